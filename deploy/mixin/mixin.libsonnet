// The shipped rules and dashboards as a monitoring mixin in Jsonnet:
//
//   local edge = (import 'mixin.libsonnet') + { _config+:: { alertLabels: { team: 'edge' } } };
//   { 'alerts.json': edge.prometheusAlerts, 'rules.json': edge.prometheusRules } + edge.grafanaDashboards
local files = [
  importstr '../prometheus/rules/containers-database.yml',
  importstr '../prometheus/rules/dns.yml',
  importstr '../prometheus/rules/exporter.yml',
  importstr '../prometheus/rules/scripts.yml',
  importstr '../prometheus/rules/shield.yml',
];
local groups = std.flatMap(function(file) std.parseYaml(file).groups, files);
// Selects the rules that have a key, and applies a function to each; leaves out groups without such rules.
local select(key, change) = [
  group { rules: [change(rule) for rule in group.rules if std.objectHas(rule, key)] }
  for group in groups
  if std.length([rule for rule in group.rules if std.objectHas(rule, key)]) > 0
];
{
  local config = self._config,
  _config+:: {
    // The address of your copy of the runbooks, such as https://wiki.example.net/runbooks; empty: the shipped addresses.
    runbookBase: '',
    // Labels of every alert.
    alertLabels: {},
    // Names of severities, such as { critical: 'page' }.
    severities: {},
  },
  prometheusAlerts+:: {
    groups+: select('alert', function(alert) alert {
      labels+: config.alertLabels {
        severity: std.get(config.severities, alert.labels.severity, alert.labels.severity),
      },
      annotations+: if config.runbookBase == '' then {} else { runbook_url: config.runbookBase + '/' + alert.alert + '.md' },
    }),
  },
  prometheusRules+:: {
    groups+: select('record', function(rule) rule),
  },
  grafanaDashboards+:: {
    'edge-database.json': import '../../dashboards/edge-database.json',
    'edge-dns.json': import '../../dashboards/edge-dns.json',
    'edge-exporter.json': import '../../dashboards/edge-exporter.json',
    'edge-overview.json': import '../../dashboards/edge-overview.json',
    'edge-scripts.json': import '../../dashboards/edge-scripts.json',
    'edge-shield.json': import '../../dashboards/edge-shield.json',
    'edge-zone.json': import '../../dashboards/edge-zone.json',
  },
}
