// The two kinds of panel whose drawing Grafana does not publish as a component: states over time, and heat maps.
import React from 'react';
import { formattedValueToString, getValueFormat } from '@grafana/data';

const EDGE = { left: 8, right: 12, bottom: 24 };

function Times({ range, left, width, y, theme }) {
  return [0, 1, 2, 3, 4].map((part) => (
    <text key={part} x={left + (width * part) / 4} y={y} fill={theme.colors.text.primary} textAnchor={part === 4 ? 'end' : part ? 'middle' : 'start'}>
      {new Date(range[0] + ((range[1] - range[0]) * part) / 4).toISOString().slice(11, 16)}
    </text>
  ));
}

export function StateTimeline({ frames, range, width, height, theme }) {
  const left = 170;
  const wide = width - left - EDGE.right;
  const tall = Math.min(34, (height - EDGE.bottom) / frames.length);
  const place = (when) => left + (wide * (Math.max(when, range[0]) - range[0])) / (range[1] - range[0]);
  return (
    <svg width={width} height={height} fontSize={12}>
      {frames.map((frame, row) => {
        const [time, field] = frame.fields;
        const step = time.config.interval ?? 60_000;
        return (
          <g key={row}>
            <text x={EDGE.left} y={row * tall + tall / 2 + 4} fill={theme.colors.text.primary}>{field.config.displayNameFromDS}</text>
            {time.values.map((when, index) => (
              <rect
                key={index} x={place(when - step)} y={row * tall + 3} height={tall - 6} width={place(when) - place(when - step) + 0.5}
                fill={field.display(field.values[index]).color} fillOpacity={0.8}
              />
            ))}
          </g>
        );
      })}
      <Times range={range} left={left} width={wide} y={height - 6} theme={theme} />
    </svg>
  );
}

export function Heatmap({ frames, range, width, height, theme, unit }) {
  const bound = (frame) => Number(frame.fields[1].labels.le.replace('+Inf', 'Infinity'));
  const rows = [...frames].sort((one, other) => bound(one) - bound(other));
  const left = 64;
  const wide = width - left - EDGE.right;
  const tall = (height - EDGE.bottom) / rows.length;
  const counted = rows.map((frame, row) => {
    const below = row ? new Map(rows[row - 1].fields[0].values.map((when, index) => [when, rows[row - 1].fields[1].values[index]])) : new Map();
    return frame.fields[0].values.map((when, index) => [when, Math.max(0, frame.fields[1].values[index] - (below.get(when) ?? 0))]);
  });
  const most = Math.max(...counted.flat().map(([, value]) => value)) || 1;
  const format = getValueFormat(unit);
  const place = (when) => left + (wide * (Math.max(when, range[0]) - range[0])) / (range[1] - range[0]);
  return (
    <svg width={width} height={height} fontSize={12}>
      {rows.map((frame, row) => {
        const top = (rows.length - 1 - row) * tall;
        const step = frame.fields[0].config.interval;
        return (
          <g key={row}>
            <text x={left - 8} y={top + 4 + 6} textAnchor="end" fill={theme.colors.text.primary}>
              {Number.isFinite(bound(frame)) ? formattedValueToString(format(bound(frame))) : '+Inf'}
            </text>
            {counted[row].filter(([, value]) => value > 1e-9).map(([when, value]) => (
              <rect
                key={when} x={place(when - step)} y={top} width={Math.max(0, place(when) - place(when - step) - 0.5)} height={tall - 1}
                fill={theme.visualization.getColorByName('dark-orange')} fillOpacity={0.15 + 0.85 * Math.sqrt(value / most)}
              />
            ))}
          </g>
        );
      })}
      <Times range={range} left={left} width={wide} y={height - 6} theme={theme} />
    </svg>
  );
}
