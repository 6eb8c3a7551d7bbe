{{/* The name of every object: short enough for the labels that Kubernetes derives from a StatefulSet's. */}}
{{- define "edge-exporter.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" (.Release.Name | trunc 36 | trimSuffix "-") .Chart.Name -}}
{{- end -}}
{{- end -}}

{{- define "edge-exporter.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: exporter
{{- end -}}

{{- define "edge-exporter.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: edge-exporter
{{- end -}}

{{/* The metadata of an object; `name` or `suffix`, `labels` and `annotations` are its own, and win over those of all. */}}
{{- define "edge-exporter.metadata" -}}
name: {{ .name | default (include "edge-exporter.fullname" .root) }}{{ with .suffix }}-{{ . }}{{ end }}
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

{{/* What the paths begin with: the configuration's web.route_prefix, without the slash at its end. */}}
{{- define "edge-exporter.prefix" -}}
{{- dig "web" "route_prefix" "" .Values.config | trimSuffix "/" -}}
{{- end -}}

{{- define "edge-exporter.keySecret" -}}
{{- .Values.apiKey.existingSecret | default (ternary (include "edge-exporter.fullname" .) "" (not (empty .Values.apiKey.value))) -}}
{{- end -}}

{{/* Whether each pod claims a volume for its counters. */}}
{{- define "edge-exporter.volume" -}}
{{- if and .Values.persistence.enabled (not .Values.persistence.existingClaim) (not .Values.state.existingSecret) -}}true{{- end -}}
{{- end -}}

{{/* How many pods there are. */}}
{{- define "edge-exporter.replicas" -}}
{{- add .Values.shards .Values.spares -}}
{{- end -}}

{{- define "edge-exporter.kind" -}}
{{- ternary "Deployment" "StatefulSet" (not (empty .Values.state.existingSecret)) -}}
{{- end -}}

{{/* A probe: what it asks, and how often. */}}
{{- define "edge-exporter.probe" -}}
httpGet:
  path: {{ include "edge-exporter.prefix" .root }}{{ .path }}
  port: http
  scheme: {{ ternary "HTTPS" "HTTP" .root.Values.tls }}
{{ toYaml .timing }}
{{- end -}}

{{/* What one endpoint of a monitor says, of either kind. */}}
{{- define "edge-exporter.endpoint" -}}
port: http
path: {{ include "edge-exporter.prefix" . }}/metrics
{{- if .Values.tls }}
scheme: https
{{- end }}
interval: {{ .Values.monitor.interval }}
scrapeTimeout: {{ .Values.monitor.scrapeTimeout }}
# A choice: no label of the exporter is one that the operator adds to a target.
honorLabels: true
{{- with .Values.monitor.tlsConfig }}
tlsConfig: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.monitor.basicAuth }}
basicAuth: {{- toYaml . | nindent 2 }}
{{- end }}
relabelings:
  # The pod's name stays over a restart; its address, which is the default, would start new series.
  - sourceLabels: [__meta_kubernetes_pod_name]
    targetLabel: instance
metricRelabelings:
{{- .Files.Get "files/relabeling.yaml" | fromYamlArray | toYaml | nindent 2 }}
{{- with .Values.monitor.metricRelabelings }}
{{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Makes the changes of prometheusRule in one alert, in place, as exporter/assets/alert_rules.py does; writes nothing. */}}
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
