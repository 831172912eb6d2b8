# A server for studies and boards; docs/how-to/serve-proxy.md says how to run it.
FROM python:3.13-slim
ARG EXTRAS=serve
COPY . /metal
RUN pip install --no-cache-dir "/metal[$EXTRAS]" && useradd --create-home metal && mkdir /data && chown metal /data
USER metal
WORKDIR /data
EXPOSE 8642
HEALTHCHECK CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8642/healthz')"]
# --https: browsers reach it through a proxy that speaks TLS. Leave it out only to try it on your machine.
CMD ["metal", "serve", "/data", "--host", "0.0.0.0", "--port", "8642", "--https"]
