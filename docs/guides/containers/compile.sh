#!/bin/sh
# Run while the image is built: trains the demo and serves it once, so that the image has all kernels
# that a service with the default model calls, compiled for the processor of this machine.
set -eu
labelgrove demo --quiet --out "$1"
labelgrove serve "$1" --quiet --no-feedback &
service=$!
until python -I -c "from urllib.request import urlopen; urlopen('http://127.0.0.1:8000/healthz')" 2>/dev/null; do
    kill -0 "$service"
    sleep 1
done
kill "$service"
wait "$service"
