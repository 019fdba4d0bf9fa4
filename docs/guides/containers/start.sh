#!/bin/sh
# Starts labelgrove in a container. numba wants a folder for compiled kernels that it may write to,
# and the image may be read-only: those compiled with the image are copied to where there is room.
set -eu
kernels=/opt/labelgrove/kernels
if [ -d "$kernels" ] && [ ! -e "$NUMBA_CACHE_DIR" ]; then
    cp -R "$kernels" "$NUMBA_CACHE_DIR"
fi
exec labelgrove "$@"
