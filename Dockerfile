# One file, two images:
#   docker build --target service -t search-capture-service .   api, dispatcher, controller, migrate, demo, scs
#   docker build --target lane    -t search-capture-lane .      the browser pods
ARG NODE_IMAGE=docker.io/library/node:24-bookworm-slim
ARG DEBIAN_IMAGE=docker.io/library/debian:bookworm-slim

FROM ${NODE_IMAGE} AS packages
WORKDIR /app
COPY package.json package-lock.json ./
# No package of ours needs to run anything at install, so none may.
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund --loglevel=error
# The service image never starts a browser.
RUN mkdir /lane-only && mv node_modules/playwright-core /lane-only/

FROM ${DEBIAN_IMAGE} AS base
RUN apt-get update -qq \
  && apt-get install -y -qq --no-install-recommends ca-certificates tini \
  && rm -rf /var/lib/apt/lists/* /var/cache/apt/* \
  && groupadd --gid 65532 scs && useradd --uid 65532 --gid 65532 --no-create-home --home-dir /tmp --shell /usr/sbin/nologin scs
COPY --from=packages /usr/local/bin/node /usr/local/bin/node
# Programs are found by what they do: `scs account create` under `kubectl exec`, `cmd/api/main.ts` as arguments.
RUN printf '#!/bin/sh\nexec node /app/cmd/scs/main.ts "$@"\n' > /usr/local/bin/scs && chmod 755 /usr/local/bin/scs
# The numeric id lets Kubernetes see that it is not root. HOME must be a place that can be written to.
ENV NODE_ENV=production HOME=/tmp HOST=0.0.0.0
WORKDIR /app
# Compiled below, where each program ends for want of settings: a pod, which can write nothing here, starts in half the time.
ENV NODE_COMPILE_CACHE=/app/compiled
RUN mkdir compiled && chown 65532:65532 compiled
ENTRYPOINT ["tini", "--", "node"]

FROM base AS lane-base
# Fonts for the scripts that answers are written in: a page without its glyphs reads, but its proof shows boxes.
RUN apt-get update -qq \
  && apt-get install -y -qq --no-install-recommends chromium-headless-shell fonts-liberation fonts-noto-core fonts-noto-color-emoji \
  && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /usr/share/doc /usr/share/man

FROM lane-base AS lane
COPY --from=packages /app/node_modules node_modules
COPY --from=packages /lane-only node_modules
COPY package.json ./
COPY config/plans config/plans
COPY config/prices.yaml config/prices.yaml
COPY cmd cmd
COPY pkg pkg
USER 65532:65532
RUN node cmd/lane/main.ts > /dev/null 2>&1 || true
CMD ["cmd/lane/main.ts"]

FROM base AS service
COPY --from=packages /app/node_modules node_modules
COPY package.json ./
COPY config/plans config/plans
COPY config/prices.yaml config/prices.yaml
COPY crds crds
COPY cmd cmd
COPY pkg pkg
USER 65532:65532
RUN for name in api dispatcher controller; do node "cmd/$name/main.ts" > /dev/null 2>&1 || true; done
CMD ["cmd/api/main.ts"]
