{{/* Refuses values that could only fail later, in the cluster or in the pod. It returns nothing. */}}
{{- define "edge-exporter.checks" -}}
{{- range list "apiKey" "dashboards" "image" "ingress" "monitor" "networkPolicy" "persistence" "podDisruptionBudget" "probes" "prometheusRule" "service" "serviceAccount" "state" -}}
{{- if not (hasKey $.Values .) -}}
{{- fail (printf "there is no value %s: --reuse-values leaves out what this version of the chart added; use --reset-then-reuse-values, or name your own values with --values" .) -}}
{{- end -}}
{{- end -}}
{{- $accounts := .Values.config.accounts | default list -}}
{{- $is_given := or .Values.baseUrl $accounts .Values.config.databases .Values.existingConfigSecret -}}
{{- if and .Values.demo $is_given -}}
{{- fail "demo polls its own platform: set either demo, or what is polled" -}}
{{- end -}}
{{- if and .Values.demo (or .Values.tls (gt (int .Values.shards) 1)) -}}
{{- fail "demo is one exporter without TLS: leave shards and tls as they are" -}}
{{- end -}}
{{- if not (or .Values.demo $is_given) -}}
{{- fail "nothing to poll: set baseUrl and apiKey.existingSecret, or config.accounts, or demo=true to look at it" -}}
{{- end -}}
{{- if and .Values.apiKey.existingSecret .Values.apiKey.value -}}
{{- fail "apiKey.existingSecret and apiKey.value are both set: one of them" -}}
{{- end -}}
{{- if and .Values.baseUrl (not $accounts) (not (include "edge-exporter.keySecret" .)) -}}
{{- fail "baseUrl needs a key: set apiKey.existingSecret, or apiKey.value" -}}
{{- end -}}
{{- if and (gt (int .Values.spares) 0) (not .Values.state.existingSecret) -}}
{{- fail "a spare takes over the counters of a database: set state.existingSecret" -}}
{{- end -}}
{{- if and .Values.demo .Values.state.existingSecret -}}
{{- fail "demo keeps its counters for itself: leave state.existingSecret empty" -}}
{{- end -}}
{{- if and (or .Values.baseUrl (include "edge-exporter.keySecret" .)) (gt (len $accounts) 1) -}}
{{- fail "baseUrl and apiKey are for one account: with several, set base_url and api_key_file in each of config.accounts" -}}
{{- end -}}
{{- if and .Values.persistence.existingClaim (or (gt (int .Values.shards) 1) .Values.state.existingSecret) -}}
{{- fail "persistence.existingClaim is the volume of one shard: leave shards at 1, and state.existingSecret empty" -}}
{{- end -}}
{{- if and .Values.config .Values.existingConfigSecret -}}
{{- fail "config and existingConfigSecret are both set: one of them" -}}
{{- end -}}
{{- if and .Values.ingress.enabled (not (and .Values.service.type .Values.ingress.hosts)) -}}
{{- fail "an ingress leads to the Service that service.type names: set it, such as ClusterIP, and ingress.hosts" -}}
{{- end -}}
{{- $interval := include "edge-exporter.milliseconds" .Values.monitor.interval | int -}}
{{- if lt $interval (include "edge-exporter.milliseconds" .Values.monitor.scrapeTimeout | int) -}}
{{- fail (printf "monitor.scrapeTimeout %s is longer than monitor.interval %s: Prometheus refuses that" .Values.monitor.scrapeTimeout .Values.monitor.interval) -}}
{{- end -}}
{{- $names := list -}}
{{- range concat (include "edge-exporter.variables" . | fromYamlArray) .Values.extraEnv -}}
{{- if has .name $names -}}
{{- fail (printf "extraEnv: %s is set twice, or is one that the chart sets" .name) -}}
{{- end -}}
{{- $names = append $names .name -}}
{{- end -}}
{{- include "edge-exporter.checkUpgrade" . -}}
{{- end -}}

{{/* Refuses what a cluster would refuse to change in the workload that is there. `helm template` finds none. */}}
{{- define "edge-exporter.checkUpgrade" -}}
{{- $name := include "edge-exporter.fullname" . -}}
{{- $kind := include "edge-exporter.kind" . -}}
{{- $namespace := include "edge-exporter.namespace" . -}}
{{- with lookup "apps/v1" $kind $namespace $name -}}
{{- if ne (toJson .spec.selector.matchLabels) (include "edge-exporter.selector" $ | fromYaml | toJson) -}}
{{- fail (printf "nameOverride changes the labels by which the %s %s finds its pods, %s, which no cluster changes: install a release of another name" $kind $name (toJson .spec.selector.matchLabels)) -}}
{{- end -}}
{{- $held := first (.spec.volumeClaimTemplates | default (list dict)) -}}
{{- $wanted := dict -}}
{{- if include "edge-exporter.volume" $ -}}
{{- $wanted = include "edge-exporter.claimTemplates" $ | fromYamlArray | first -}}
{{- end -}}
{{- $is_same := eq (include "edge-exporter.claim" $held) (include "edge-exporter.claim" $wanted) -}}
{{- if not (and $is_same (eq (include "edge-exporter.bytes" $held) (include "edge-exporter.bytes" $wanted))) -}}
{{- fail (printf "persistence: each pod of the %s %s has %s, and would have %s, which no cluster changes: keep it, or run 'kubectl --namespace %s delete %s %s --cascade=orphan' and upgrade again (docs/upgrading.md)" $kind $name (include "edge-exporter.claimInWords" $held) (include "edge-exporter.claimInWords" $wanted) $namespace (lower $kind) $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* What a claim's template says besides its size, and all of it in words. */}}
{{- define "edge-exporter.claim" -}}
{{- with .spec -}}
storageClass {{ .storageClassName | toJson }}, {{ toJson .accessModes }}, annotations {{ $.metadata.annotations | default dict | toJson }}
{{- end -}}
{{- end -}}

{{- define "edge-exporter.claimInWords" -}}
{{- with .spec }}a claim of {{ .resources.requests.storage }}, {{ include "edge-exporter.claim" $ }}{{ else }}no claim{{ end -}}
{{- end -}}

{{/* The size of a claim's template: a cluster writes 1Gi for 1024Mi. */}}
{{- define "edge-exporter.bytes" -}}
{{- with .spec -}}
{{- $size := .resources.requests.storage -}}
{{- $unit := regexFind "[a-zA-Z]*$" $size -}}
{{- $powers := dict "k" 1 "K" 1 "M" 2 "G" 3 "T" 4 "P" 5 "E" 6 -}}
{{- $bytes := trimSuffix $unit $size | float64 -}}
{{- range until (get $powers (trimSuffix "i" $unit) | int) -}}
{{- $bytes = mulf $bytes (ternary 1024 1000 (hasSuffix "i" $unit)) -}}
{{- end -}}
{{- printf "%.0f" $bytes -}}
{{- end -}}
{{- end -}}

{{/* A duration such as 1m30s in milliseconds. */}}
{{- define "edge-exporter.milliseconds" -}}
{{- $factors := dict "ms" 1 "s" 1000 "m" 60000 "h" 3600000 "d" 86400000 -}}
{{- $total := 0 -}}
{{- range regexFindAll "[0-9]+(ms|[smhd])" . -1 -}}
{{- $total = add $total (mul (regexFind "[0-9]+" .) (get $factors (regexFind "[a-z]+" .))) -}}
{{- end -}}
{{- $total -}}
{{- end -}}
