{{- define "tracejury.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "tracejury.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "tracejury.labels" -}}
{{ include "tracejury.selector" . }}
app.kubernetes.io/version: {{ .Values.image.tag | default .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "tracejury.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "tracejury.serviceAccount" -}}
{{ if .Values.serviceAccount.create }}{{ .Values.serviceAccount.name | default (include "tracejury.name" .) }}{{ else }}{{ .Values.serviceAccount.name | default "default" }}{{ end }}
{{- end }}

{{/* The roles that run in this mode, as a JSON list. */}}
{{- define "tracejury.roles" -}}
{{ ternary (list "receive" "work" "web") (list "all") (eq .Values.mode "roles") | toJson }}
{{- end }}

{{/* "scaled" where the number of pods of role .role is not the chart's. */}}
{{- define "tracejury.scaled" -}}
{{- $one := index .root.Values .role -}}
{{- if and (eq .role "receive") $one.autoscaling.enabled }}scaled{{ end -}}
{{- if and (eq .role "work") $one.autoscaling.enabled .root.Values.config.kafka }}scaled{{ end -}}
{{- end }}

{{/* The configuration file of role .role: values.config, with the chart's addresses and folders over it. */}}
{{- define "tracejury.config" -}}
{{- $folder := "/var/lib/tracejury" -}}
{{- $ours := dict "grpc" (dict "endpoint" "0.0.0.0:4317") "http" (dict "endpoint" "0.0.0.0:4318") "api" (dict "endpoint" "0.0.0.0:8321") -}}
{{- $writer := dict "dead_letter" (printf "%s/dead-letter" $folder) -}}
{{- if eq .root.Values.mode "embedded" -}}
{{- $_ := set $ours "store" (dict "dsn" (printf "chdb:///%s/db" $folder) "fsync" true "max_memory_bytes" 2147483648) -}}
{{- $_ := set $ours "keys" (dict "file" (printf "%s/keys.json" $folder)) -}}
{{- $writer = dict "min_free_bytes" 2147483648 -}}
{{- end -}}
{{- $_ := set $ours "writer" $writer -}}
{{- if .share }}{{ $_ := set $ours "judging" (dict "share" .share) }}{{ end -}}
{{- toYaml (mergeOverwrite (deepCopy .root.Values.config) $ours) -}}
{{- end }}

{{/* What runs, as a JSON list of name, role and, for workers that share traces without Kafka, share. */}}
{{- define "tracejury.workloads" -}}
{{- $workloads := list -}}
{{- $root := . -}}
{{- range $role := include "tracejury.roles" . | fromJsonArray -}}
{{- $replicas := int (index $root.Values $role).replicas -}}
{{- if and (eq $role "work") (not $root.Values.config.kafka) (gt $replicas 1) -}}
{{- range $index := until $replicas -}}
{{- $workloads = append $workloads (dict "name" (printf "work-%d" $index) "role" $role "share" (dict "index" $index "of" $replicas)) -}}
{{- end -}}
{{- else -}}
{{- $workloads = append $workloads (dict "name" $role "role" $role) -}}
{{- end -}}
{{- end -}}
{{- toJson $workloads -}}
{{- end }}

{{- define "tracejury.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
fsGroupChangePolicy: OnRootMismatch
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "tracejury.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{- define "tracejury.storeVariable" -}}
- name: TRACEJURY_STORE
  valueFrom: {secretKeyRef: {name: {{ required "store.existingSecret: the modes all and roles need a secret with the DSN of a ClickHouse server" .Values.store.existingSecret }}, key: {{ .Values.store.key }}}}
{{- end }}

{{/* What KEDA asks Kafka about, from config.kafka and its defaults. */}}
{{- define "tracejury.topics" -}}
{{- $topics := list -}}
{{- range .Values.config.kafka.topics }}{{ $topics = append $topics .name }}{{ end -}}
{{ $topics | default (list "otlp_spans" "otlp_logs") | toJson }}
{{- end }}
