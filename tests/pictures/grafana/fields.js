// What a panel's queries found, as Grafana's data frames with the panel's own units, colours and words.
import {
  applyFieldOverrides,
  cacheFieldDisplayNames,
  createDataFrame,
  FieldConfigOptionsRegistry,
  FieldType,
  standardTransformers,
  standardTransformersRegistry,
  transformDataFrame,
} from '@grafana/data';
import { firstValueFrom } from 'rxjs';

const STANDARD = ['unit', 'decimals', 'min', 'max', 'fieldMinMax', 'thresholds', 'mappings', 'color', 'noValue', 'displayName', 'links'];
const CUSTOM = [
  'drawStyle', 'lineInterpolation', 'lineWidth', 'lineStyle', 'fillOpacity', 'fillBelowTo', 'gradientMode', 'showPoints',
  'pointSize', 'spanNulls', 'stacking', 'thresholdsStyle', 'axisPlacement', 'axisLabel', 'barAlignment', 'hideFrom',
  'scaleDistribution', 'cellOptions', 'width', 'minWidth', 'filterable', 'align', 'inspect', 'hidden',
];
// What Grafana fills in where a panel's JSON says nothing.
const GRAPH = {
  drawStyle: 'line', lineInterpolation: 'linear', lineWidth: 1, fillOpacity: 0, gradientMode: 'none', pointSize: 5,
  showPoints: 'auto', spanNulls: false, axisPlacement: 'auto', barAlignment: 0, barWidthFactor: 0.6, axisLabel: '',
  scaleDistribution: { type: 'linear' }, hideFrom: { legend: false, tooltip: false, viz: false },
  stacking: { mode: 'none', group: 'A' }, thresholdsStyle: { mode: 'off' }, axisColorMode: 'text',
};
const CELLS = { align: 'auto', cellOptions: { type: 'auto' }, inspect: false };

const registry = new FieldConfigOptionsRegistry(() =>
  [...STANDARD.map((id) => [id, id, false]), ...CUSTOM.map((id) => [`custom.${id}`, id, true])].map(([id, path, isCustom]) => ({
    id, path, isCustom, name: id, editor: null, override: null, settings: {}, process: (value) => value,
    shouldApply: () => true, getItemsCount: () => 1,
  }))
);

standardTransformersRegistry.setInit(() =>
  [...new Map(Object.values(standardTransformers).map((each) => [each.id, each])).values()].map((transformation) => ({
    id: transformation.id, name: transformation.name, transformation, editor: null,
  }))
);

function rangeFrame(answer, series) {
  return createDataFrame({
    refId: answer.refId,
    fields: [
      { name: 'Time', type: FieldType.time, values: series.points.map(([when]) => when * 1000), config: { interval: answer.step * 1000 } },
      {
        name: 'Value', type: FieldType.number, labels: series.labels, values: series.points.map(([, value]) => Number(value)),
        config: { displayNameFromDS: series.name },
      },
    ],
  });
}

function tableFrame(answer, several) {
  const labels = [...new Set(answer.series.flatMap((one) => Object.keys(one.labels)))].sort();
  const last = (one) => one.points[one.points.length - 1];
  return createDataFrame({
    refId: answer.refId,
    fields: [
      { name: 'Time', type: FieldType.time, values: answer.series.map((one) => last(one)[0] * 1000), config: {} },
      ...labels.map((label) => ({
        name: label, type: FieldType.string, values: answer.series.map((one) => one.labels[label] ?? ''), config: { filterable: true },
      })),
      {
        name: several ? `Value #${answer.refId}` : 'Value', type: FieldType.number,
        values: answer.series.map((one) => Number(last(one)[1])), config: {},
      },
    ],
  });
}

export async function framesOf(panel, answers, theme) {
  const isTable = panel.type === 'table';
  const full = answers.filter((answer) => answer.series.length);
  const raw = isTable
    ? full.map((answer) => tableFrame(answer, full.length > 1))
    : full.flatMap((answer) => answer.series.map((one) => rangeFrame(answer, one)));
  const data = await firstValueFrom(transformDataFrame(panel.transformations ?? [], raw));
  const told = panel.fieldConfig ?? { defaults: {}, overrides: [] };
  const frames = applyFieldOverrides({
    data, theme, timeZone: 'utc', fieldConfigRegistry: registry,
    fieldConfig: {
      defaults: { ...told.defaults, custom: { ...(isTable ? CELLS : GRAPH), ...told.defaults.custom } },
      overrides: told.overrides ?? [],
    },
    replaceVariables: (text) => text,
  });
  // Colours go by the names that the legend shows.
  cacheFieldDisplayNames(frames);
  return frames;
}
