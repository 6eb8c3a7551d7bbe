{{/* Refuses values that would fail later, in the cluster or in the pod. It returns nothing. */}}
{{- define "edge-exporter.checks" -}}
{{- range list "apiKey" "dashboards" "image" "ingress" "monitor" "networkPolicy" "persistence" "podDisruptionBudget" "probes" "prometheusRule" "service" "serviceAccount" "state" -}}
{{- if not (hasKey $.Values .) -}}
{{- fail (printf "there is no value %s: --reuse-values leaves out values that this version of the chart added; use --reset-then-reuse-values, or give your values with --values" .) -}}
{{- end -}}
{{- end -}}
{{- $accounts := .Values.config.accounts | default list -}}
{{- $is_given := or .Values.baseUrl $accounts .Values.config.databases .Values.existingConfigSecret -}}
{{- if and .Values.demo $is_given -}}
{{- fail "demo polls its own platform: set either demo, or baseUrl or config" -}}
{{- end -}}
{{- if and .Values.demo (or .Values.tls (gt (int .Values.shards) 1)) -}}
{{- fail "demo is one exporter without TLS: leave shards and tls as they are" -}}
{{- end -}}
{{- if not (or .Values.demo $is_given) -}}
{{- fail "nothing to poll: set baseUrl and apiKey.existingSecret, or config.accounts, or demo=true to look at it" -}}
{{- end -}}
{{- if and .Values.apiKey.existingSecret .Values.apiKey.value -}}
{{- fail "apiKey.existingSecret and apiKey.value are both set: set only one" -}}
{{- end -}}
{{- if and .Values.baseUrl (not $accounts) (not (include "edge-exporter.keySecret" .)) -}}
{{- fail "baseUrl needs a key: set apiKey.existingSecret, or apiKey.value" -}}
{{- end -}}
{{- if and (gt (int .Values.spares) 0) (not .Values.state.existingSecret) -}}
{{- fail "spares need the counters in a database: set state.existingSecret" -}}
{{- end -}}
{{- if and .Values.demo .Values.state.existingSecret -}}
{{- fail "demo does not use a database for its counters: leave state.existingSecret empty" -}}
{{- end -}}
{{- if and (or .Values.baseUrl (include "edge-exporter.keySecret" .)) (gt (len $accounts) 1) -}}
{{- fail "baseUrl and apiKey are for one account: with several, set base_url and api_key_file in each of config.accounts" -}}
{{- end -}}
{{- if and .Values.persistence.existingClaim (or (gt (int .Values.shards) 1) .Values.state.existingSecret) -}}
{{- fail "persistence.existingClaim is the volume of one shard: leave shards at 1, and state.existingSecret empty" -}}
{{- end -}}
{{- if and .Values.config .Values.existingConfigSecret -}}
{{- fail "config and existingConfigSecret are both set: set only one" -}}
{{- end -}}
{{- if and .Values.ingress.enabled (not (and .Values.service.type .Values.ingress.hosts)) -}}
{{- fail "ingress.enabled needs service.type, such as ClusterIP, and ingress.hosts" -}}
{{- end -}}
{{- $names := list -}}
{{- range concat (include "edge-exporter.variables" . | fromYamlArray) .Values.extraEnv -}}
{{- if has .name $names -}}
{{- fail (printf "extraEnv: %s is set twice, or is one that the chart sets" .name) -}}
{{- end -}}
{{- $names = append $names .name -}}
{{- end -}}
{{- end -}}
