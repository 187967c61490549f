{{- define "scs.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{/* Short enough that the longest suffix still makes a name of 63 characters. */}}
{{- define "scs.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains (include "scs.name" .) .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "scs.name" .) | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* What a selector may name: it can never change. */}}
{{- define "scs.selector" -}}
app.kubernetes.io/name: {{ include "scs.name" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- define "scs.labels" -}}
{{ include "scs.selector" . }}
app.kubernetes.io/part-of: search-capture
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "scs.image" -}}
{{- $image := .image -}}
{{ printf "%s:%s" $image.repository (default .root.Chart.AppVersion $image.tag) }}
{{- end -}}

{{/* Pod Security "restricted", and what it does not ask for: a fixed user, and no service-account token. */}}
{{- define "scs.podSecurity" -}}
automountServiceAccountToken: {{ default false .token }}
securityContext:
  runAsNonRoot: true
  runAsUser: {{ default 65532 .user }}
  runAsGroup: {{ default 65532 .user }}
  fsGroup: {{ default 65532 .user }}
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: { type: RuntimeDefault }
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets: {{ toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "scs.containerSecurity" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
{{- end -}}

{{- define "scs.placement" -}}
{{- with .nodeSelector }}
nodeSelector: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .affinity }}
affinity: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end -}}

{{/* Replicas on different nodes where there are several; one node must not stop a rollout. */}}
{{- define "scs.spread" -}}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    matchLabelKeys: [pod-template-hash]
    labelSelector:
      matchLabels: {{ include "scs.selector" . | nindent 8 }}
{{- end -}}

{{- define "scs.secretName" -}}
{{- default (printf "%s-keys" (include "scs.fullname" .)) .Values.secrets.existingSecret -}}
{{- end -}}

{{- define "scs.databaseSecret" -}}
{{- if .Values.postgresql.enabled -}}
name: {{ include "scs.fullname" . }}-postgresql
key: DATABASE_URL
{{- else -}}
name: {{ required "postgresql.external.existingSecret must name the Secret with the address of Postgres when postgresql.enabled is false" .Values.postgresql.external.existingSecret }}
key: {{ .Values.postgresql.external.key }}
{{- end -}}
{{- end -}}

{{- define "scs.redisSecret" -}}
{{- if .Values.redis.enabled -}}
name: {{ include "scs.fullname" . }}-redis
key: REDIS_URL
{{- else -}}
name: {{ required "redis.external.existingSecret must name the Secret with the address of Redis when redis.enabled is false" .Values.redis.external.existingSecret }}
key: {{ .Values.redis.external.key }}
{{- end -}}
{{- end -}}

{{- define "scs.databaseEnv" -}}
- name: DATABASE_URL
  valueFrom: { secretKeyRef: { {{ include "scs.databaseSecret" . | replace "\n" ", " }} } }
{{- end -}}

{{- define "scs.redisEnv" -}}
- name: REDIS_URL
  valueFrom: { secretKeyRef: { {{ include "scs.redisSecret" . | replace "\n" ", " }} } }
{{- end -}}

{{- define "scs.keysEnv" -}}
- name: API_KEY_PEPPER
  valueFrom: { secretKeyRef: { name: {{ include "scs.secretName" . }}, key: API_KEY_PEPPER } }
- name: SECRETS_KEYRING
  valueFrom: { secretKeyRef: { name: {{ include "scs.secretName" . }}, key: SECRETS_KEYRING } }
{{- end -}}

{{- define "scs.artifactsEnv" -}}
- { name: ARTIFACT_STORE, value: {{ .Values.artifacts.store }} }
{{- if eq .Values.artifacts.store "s3" }}
{{- with .Values.artifacts.s3 }}
- { name: S3_ENDPOINT, value: {{ .endpoint | quote }} }
- { name: S3_BUCKET, value: {{ required "artifacts.s3.bucket must be set when artifacts.store is s3" .bucket | quote }} }
- { name: S3_REGION, value: {{ .region | quote }} }
- { name: S3_FORCE_PATH_STYLE, value: {{ .forcePathStyle | quote }} }
{{- with .existingSecret }}
- name: S3_ACCESS_KEY_ID
  valueFrom: { secretKeyRef: { name: {{ . }}, key: S3_ACCESS_KEY_ID } }
- name: S3_SECRET_ACCESS_KEY
  valueFrom: { secretKeyRef: { name: {{ . }}, key: S3_SECRET_ACCESS_KEY } }
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "scs.plansEnv" -}}
{{- if .Values.plans }}
- { name: PLANS_DIR, value: /etc/search-capture/plans }
{{- end }}
{{- if .Values.prices }}
- { name: PRICES_FILE, value: /etc/search-capture/prices/prices.yaml }
{{- end }}
{{- end -}}

{{- define "scs.plansMounts" -}}
{{- if .Values.plans }}
- { name: plans, mountPath: /etc/search-capture/plans, readOnly: true }
{{- end }}
{{- if .Values.prices }}
- { name: prices, mountPath: /etc/search-capture/prices, readOnly: true }
{{- end }}
{{- end -}}

{{- define "scs.plansVolumes" -}}
{{- if .Values.plans }}
- name: plans
  configMap: { name: {{ include "scs.fullname" . }}-plans }
{{- end }}
{{- if .Values.prices }}
- name: prices
  configMap: { name: {{ include "scs.fullname" . }}-prices }
{{- end }}
{{- end -}}

{{/* Node reads files under load of a rollout: what it compiled is kept in /tmp, for the start after a crash. */}}
{{- define "scs.runtimeEnv" -}}
- { name: LOG_LEVEL, value: {{ .Values.logLevel }} }
- { name: PROBE_PORT, value: '8081' }
{{- end -}}

{{/* A process that meets an unknown schema stops. It is brought by the migrate Job, so its pods wait for that. */}}
{{- define "scs.waitForSchema" -}}
- name: wait-for-schema
  image: {{ include "scs.image" (dict "root" . "image" .Values.image) }}
  imagePullPolicy: {{ .Values.image.pullPolicy }}
  args: [cmd/migrate/main.ts, --check, --wait-seconds, {{ .Values.migrate.waitSeconds | quote }}]
  env:
    {{- include "scs.databaseEnv" . | nindent 4 }}
    - { name: LOG_LEVEL, value: {{ .Values.logLevel }} }
  resources: {{ toYaml .Values.migrate.resources | nindent 4 }}
  {{- include "scs.containerSecurity" . | nindent 2 }}
  volumeMounts:
    - { name: tmp, mountPath: /tmp }
{{- end -}}

{{- define "scs.probes" -}}
startupProbe:
  httpGet: { path: /livez, port: probes }
  periodSeconds: 1
  failureThreshold: 120
livenessProbe:
  httpGet: { path: /livez, port: probes }
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  httpGet: { path: /readyz, port: probes }
  periodSeconds: 5
  timeoutSeconds: 3
  failureThreshold: 2
{{- end -}}

{{- define "scs.publicBaseUrl" -}}
{{- $ingress := .Values.api.ingress -}}
{{- if .Values.publicBaseUrl -}}
{{- .Values.publicBaseUrl -}}
{{- else if and $ingress.enabled $ingress.host -}}
{{- printf "%s://%s" (ternary "https" "http" $ingress.tls.enabled) $ingress.host -}}
{{- else -}}
{{- printf "http://%s-api.%s.svc" (include "scs.fullname" .) .Release.Namespace -}}
{{- end -}}
{{- end -}}

{{/* One entry of a policy's `from`: the pods of lanes, wherever the controller makes them. */}}
{{- define "scs.lanePeer" -}}
- podSelector:
    matchLabels: {{ include "scs.laneSelector" . | nindent 6 }}
  {{- if .Values.controller.allNamespaces }}
  namespaceSelector: {}
  {{- end }}
{{- end -}}

{{- define "scs.dnsEgress" -}}
- to: {{ toYaml .Values.networkPolicy.dnsTo | nindent 4 }}
  ports:
    - { protocol: UDP, port: 53 }
    - { protocol: TCP, port: 53 }
{{- end -}}

{{/* Where Postgres and Redis are: our own pods, or what networkPolicy.postgresTo and redisTo say. */}}
{{- define "scs.postgresEgress" -}}
{{- if .Values.postgresql.enabled }}
- to:
    - podSelector:
        matchLabels: {{ include "scs.selector" (dict "root" . "component" "postgresql") | nindent 10 }}
  ports: [{ protocol: TCP, port: 5432 }]
{{- else if .Values.networkPolicy.postgresTo }}
{{ toYaml .Values.networkPolicy.postgresTo }}
{{- else }}
- to: {{ include "scs.anywhere" . | nindent 4 }}
  ports: [{ protocol: TCP, port: 5432 }]
{{- end }}
{{- end -}}

{{- define "scs.redisEgress" -}}
{{- if .Values.redis.enabled }}
- to:
    - podSelector:
        matchLabels: {{ include "scs.selector" (dict "root" . "component" "redis") | nindent 10 }}
  ports: [{ protocol: TCP, port: 6379 }]
{{- else if .Values.networkPolicy.redisTo }}
{{ toYaml .Values.networkPolicy.redisTo }}
{{- else }}
- to: {{ include "scs.anywhere" . | nindent 4 }}
  ports: [{ protocol: TCP, port: 6379 }, { protocol: TCP, port: 6380 }]
{{- end }}
{{- end -}}

{{/* The metadata addresses of clouds are link-local: no process of ours has business there. */}}
{{- define "scs.anywhere" -}}
- ipBlock: { cidr: 0.0.0.0/0, except: [169.254.0.0/16] }
- ipBlock: { cidr: '::/0', except: ['fe80::/10', 'fd00:ec2::/32'] }
{{- end -}}

{{- define "scs.publicInternet" -}}
- ipBlock: { cidr: 0.0.0.0/0, except: {{ .Values.networkPolicy.privateCidrs | toJson }} }
- ipBlock: { cidr: '2000::/3' }
{{- end -}}

{{- define "scs.artifactsEgress" -}}
{{- if eq .Values.artifacts.store "s3" }}
- to: {{ include "scs.anywhere" . | nindent 4 }}
  ports: [{ protocol: TCP, port: {{ include "scs.s3Port" . }} }]
{{- end }}
{{- end -}}

{{- define "scs.s3Port" -}}
{{- $endpoint := default "https://s3" .Values.artifacts.s3.endpoint -}}
{{- $host := (urlParse $endpoint).host -}}
{{- if regexMatch ":[0-9]+$" $host -}}
{{- regexFind "[0-9]+$" $host -}}
{{- else -}}
{{- ternary "443" "80" (hasPrefix "https" $endpoint) -}}
{{- end -}}
{{- end -}}

{{- define "scs.metricsIngress" -}}
- {{ if .Values.networkPolicy.metricsFrom }}from: {{ toYaml .Values.networkPolicy.metricsFrom | nindent 4 }}
  {{ end }}ports: [{ protocol: TCP, port: 8081 }]
{{- end -}}

{{/* The pods that the controller makes for lanes. */}}
{{- define "scs.laneSelector" -}}
app.kubernetes.io/name: search-capture-lane
app.kubernetes.io/component: lane
{{- end -}}

{{/* The API server is seldom a pod, and its address is not known to a chart. */}}
{{- define "scs.kubernetesEgress" -}}
- to: {{ include "scs.anywhere" . | nindent 4 }}
  ports:
    {{- range .Values.networkPolicy.kubernetesApiPorts }}
    - { protocol: TCP, port: {{ . }} }
    {{- end }}
{{- end -}}

{{/* What every lane's pod works with, in whichever namespace. Where it goes on its own account, the controller adds. */}}
{{- define "scs.laneEgress" -}}
{{- range $component, $port := dict "postgresql" 5432 "redis" 6379 }}
{{- if (index $.Values $component).enabled }}
- to:
    - namespaceSelector: { matchLabels: { kubernetes.io/metadata.name: {{ $.Release.Namespace }} } }
      podSelector:
        matchLabels: {{ include "scs.selector" (dict "root" $ "component" $component) | nindent 10 }}
  ports: [{ protocol: TCP, port: {{ $port }} }]
{{- else if eq $component "postgresql" }}
{{- include "scs.postgresEgress" $ }}
{{- else if eq $component "redis" }}
{{- include "scs.redisEgress" $ }}
{{- end }}
{{- end }}
{{- include "scs.artifactsEgress" . }}
{{- end -}}
