{{- define "edge-exporter.name" -}}
{{- .Values.nameOverride | default .Chart.Name -}}
{{- end -}}

{{- define "edge-exporter.namespace" -}}
{{- .Values.namespaceOverride | default .Release.Namespace -}}
{{- end -}}

{{/* The name of every object: short enough for the labels that Kubernetes derives from the name of a StatefulSet. */}}
{{- define "edge-exporter.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else if contains (include "edge-exporter.name" .) .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" (.Release.Name | trunc (sub 49 (include "edge-exporter.name" . | len) | int) | trimSuffix "-") (include "edge-exporter.name" .) -}}
{{- end -}}
{{- end -}}

{{- define "edge-exporter.selector" -}}
app.kubernetes.io/name: {{ include "edge-exporter.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: exporter
{{- end -}}

{{- define "edge-exporter.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
app.kubernetes.io/name: {{ include "edge-exporter.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: edge-exporter
{{- end -}}

{{/* An object's metadata. Its own `name` or `suffix`, `namespace`, `labels` and `annotations` have priority over the common ones. */}}
{{- define "edge-exporter.metadata" -}}
name: {{ .name | default (include "edge-exporter.fullname" .root) }}{{ with .suffix }}-{{ . }}{{ end }}
{{- with .namespace | default .root.Values.namespaceOverride }}
namespace: {{ . }}
{{- end }}
labels: {{- merge (dict) (.labels | default dict) (include "edge-exporter.labels" .root | fromYaml) .root.Values.commonLabels | toYaml | nindent 2 }}
{{- with merge (dict) (.annotations | default dict) .root.Values.commonAnnotations }}
annotations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "edge-exporter.image" -}}
{{- $_ := required (printf "image.repository is required: build the image, push it as REPOSITORY:%s, and set REPOSITORY (deploy/README.md)" .Chart.AppVersion) .Values.image.repository -}}
{{- $version := .Values.image.digest | default (.Values.image.tag | default .Chart.AppVersion) -}}
{{- printf "%s%s%s" .Values.image.repository (ternary "@" ":" (not (empty .Values.image.digest))) $version -}}
{{- end -}}

{{- define "edge-exporter.serviceAccountName" -}}
{{- .Values.serviceAccount.name | default (ternary (include "edge-exporter.fullname" .) "default" .Values.serviceAccount.create) -}}
{{- end -}}

{{/* The prefix of paths: the configuration's web.route_prefix, without the slash at its end. */}}
{{- define "edge-exporter.prefix" -}}
{{- dig "web" "route_prefix" "" .Values.config | trimSuffix "/" -}}
{{- end -}}

{{- define "edge-exporter.keySecret" -}}
{{- .Values.apiKey.existingSecret | default (ternary (include "edge-exporter.fullname" .) "" (not (empty .Values.apiKey.value))) -}}
{{- end -}}

{{/* Whether each pod claims a volume for its counters. */}}
{{- define "edge-exporter.volume" -}}
{{- $is_kept := and .Values.persistence.enabled (not .Values.demo) -}}
{{- if and $is_kept (not .Values.persistence.existingClaim) (not .Values.state.existingSecret) -}}true{{- end -}}
{{- end -}}

{{- define "edge-exporter.claimTemplates" -}}
- metadata:
    name: state
    {{- with .Values.persistence.annotations }}
    annotations: {{- toYaml . | nindent 6 }}
    {{- end }}
  spec:
    accessModes: {{- toYaml .Values.persistence.accessModes | nindent 6 }}
    {{- with .Values.persistence.storageClass }}
    storageClassName: {{ ternary "" . (eq "-" .) | quote }}
    {{- end }}
    resources:
      requests:
        storage: {{ .Values.persistence.size }}
{{- end -}}

{{/* The number of pods. */}}
{{- define "edge-exporter.replicas" -}}
{{- add .Values.shards .Values.spares -}}
{{- end -}}

{{- define "edge-exporter.kind" -}}
{{- ternary "Deployment" "StatefulSet" (not (empty .Values.state.existingSecret)) -}}
{{- end -}}

{{/* The container's variables, without extraEnv. */}}
{{- define "edge-exporter.variables" -}}
{{- if or .Values.config .Values.existingConfigSecret }}
- name: EDGE_EXPORTER_CONFIG
  value: /etc/edge-exporter/config/config.yaml
{{- end }}
{{- with .Values.baseUrl }}
- name: EDGE_EXPORTER_BASE_URL
  value: {{ . | quote }}
{{- end }}
{{- if include "edge-exporter.keySecret" . }}
- name: EDGE_EXPORTER_API_KEY_FILE
  value: /etc/edge-exporter/api-key/{{ .Values.apiKey.key }}
{{- end }}
{{- with .Values.state.existingSecret }}
- name: EDGE_EXPORTER_STATE__URL_FILE
  value: /etc/edge-exporter/state/{{ $.Values.state.key }}
# Other releases may use the same database.
- name: EDGE_EXPORTER_STATE__INSTALLATION
  value: {{ include "edge-exporter.namespace" $ }}/{{ include "edge-exporter.fullname" $ }}
{{- end }}
# The first free shard in the database, or the number at the end of the pod's name.
- name: EDGE_EXPORTER_SHARD__INDEX
  value: auto
- name: EDGE_EXPORTER_SHARD__TOTAL
  value: {{ .Values.shards | quote }}
{{- end -}}

{{/* A probe: its request, period and time-out. */}}
{{- define "edge-exporter.probe" -}}
httpGet:
  path: {{ include "edge-exporter.prefix" .root }}{{ .path }}
  port: http
  scheme: {{ ternary "HTTPS" "HTTP" .root.Values.tls }}
{{ toYaml .timing }}
{{- end -}}

{{- define "edge-exporter.ipFamilies" -}}
{{- with .Values.service.ipFamilyPolicy }}
ipFamilyPolicy: {{ . }}
{{- end }}
{{- with .Values.service.ipFamilies }}
ipFamilies: {{ toJson . }}
{{- end }}
{{- end -}}

{{/* The endpoint of a PodMonitor or a ServiceMonitor. */}}
{{- define "edge-exporter.endpoint" -}}
port: http
path: {{ include "edge-exporter.prefix" . }}/metrics
{{- if .Values.tls }}
scheme: https
{{- end }}
interval: {{ .Values.monitor.interval }}
scrapeTimeout: {{ .Values.monitor.scrapeTimeout }}
# The exporter's labels are kept. None of them is a label that the operator adds.
honorLabels: true
{{- with .Values.monitor.tlsConfig }}
tlsConfig: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.monitor.basicAuth }}
basicAuth: {{- toYaml . | nindent 2 }}
{{- end }}
relabelings:
  # The pod's name stays the same after a restart; its address, the default, changes and would start new series.
  - sourceLabels: [__meta_kubernetes_pod_name]
    targetLabel: instance
{{- with .Values.monitor.relabelings }}
{{- toYaml . | nindent 2 }}
{{- end }}
metricRelabelings:
{{- .Files.Get "files/relabeling.yaml" | fromYamlArray | toYaml | nindent 2 }}
{{- with .Values.monitor.metricRelabelings }}
{{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Applies the values of prometheusRule to one alert, in place. It returns nothing. */}}
{{- define "edge-exporter.changeAlert" -}}
{{- $rule := .rule -}}
{{- $root := .root -}}
{{- $own := get $root.Values.prometheusRule.overrides $rule.alert | default dict -}}
{{- range $field := list "expr" "for" "keep_firing_for" -}}
{{- if hasKey $own $field -}}
{{- $_ := set $rule $field (get $own $field) -}}
{{- end -}}
{{- end -}}
{{- range $name, $number := $own.thresholds -}}
{{- $marked := printf "(?m)\\S+(\\s+# threshold: %s)$" $name -}}
{{- if not (regexMatch $marked $rule.expr) -}}
{{- fail (printf "prometheusRule.overrides.%s.thresholds: the alert has no threshold %s" $rule.alert $name) -}}
{{- end -}}
{{- $_ := set $rule "expr" (regexReplaceAll $marked $rule.expr (printf "%v${1}" $number)) -}}
{{- end -}}
{{- $severity := dict -}}
{{- if or $own.severity (get $root.Values.prometheusRule.severities $rule.labels.severity) -}}
{{- $severity = dict "severity" ($own.severity | default (get $root.Values.prometheusRule.severities $rule.labels.severity)) -}}
{{- end -}}
{{- $_ := set $rule "labels" (merge (dict) $severity ($own.labels | default dict) $root.Values.prometheusRule.alertLabels $rule.labels) -}}
{{- if $root.Values.prometheusRule.runbookBase -}}
{{- $_ := set $rule.annotations "runbook_url" (printf "%s/%s.md" (trimSuffix "/" $root.Values.prometheusRule.runbookBase) $rule.alert) -}}
{{- end -}}
{{- $_ := set $rule "annotations" (merge (dict) ($own.annotations | default dict) $rule.annotations) -}}
{{- end -}}
