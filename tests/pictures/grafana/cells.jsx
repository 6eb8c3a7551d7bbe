// States over time: the one kind of panel whose drawing Grafana does not publish as a component.
import React from 'react';

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
