# An image of the service: docs/guides/containers.md tells how to build and run it.
#   docker build --tag labelgrove .
#   docker build --tag labelgrove --build-arg EXTRAS=service,zstd,skos .
ARG PYTHON=3.11

FROM python:${PYTHON}-slim AS build
ARG EXTRAS=service
# another index, such as that of torch without CUDA: https://download.pytorch.org/whl/cpu
ARG PIP_EXTRA_INDEX_URL=
WORKDIR /source
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src src
# the tested versions, in an environment that is copied as a whole
RUN python -m venv /opt/labelgrove \
    && /opt/labelgrove/bin/pip install --no-cache-dir --no-compile \
        --constraint constraints.txt ".[${EXTRAS}]"
COPY docs/guides/containers/compile.sh ./
ENV PATH=/opt/labelgrove/bin:$PATH NUMBA_CACHE_DIR=/opt/labelgrove/kernels LABELGROVE_CACHE=off
RUN timeout 900 ./compile.sh /tmp/demo

FROM python:${PYTHON}-slim
# The service runs as a user to whom nothing in the image belongs but the folder for feedback.
RUN groupadd --gid 10001 labelgrove \
    && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /tmp --shell /usr/sbin/nologin labelgrove \
    && install --directory /tagger \
    && install --directory --owner=10001 --group=10001 /feedback
COPY --from=build /opt/labelgrove /opt/labelgrove
COPY --chmod=755 docs/guides/containers/start.sh /usr/local/bin/start-labelgrove
# /tmp is all that is written to: make it a tmpfs where the root file system is read-only
ENV PATH=/opt/labelgrove/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    HOME=/tmp \
    NUMBA_CACHE_DIR=/tmp/kernels \
    MPLCONFIGDIR=/tmp/matplotlib \
    LABELGROVE_CACHE=off
USER 10001:10001
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=120s --retries=3 \
    CMD ["python", "-I", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8000/healthz', timeout=4)"]
ENTRYPOINT ["start-labelgrove"]
CMD ["serve", "/tagger", "--host", "0.0.0.0", "--port", "8000", "--no-feedback"]
