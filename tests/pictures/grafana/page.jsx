// Draws a dashboard's JSON with Grafana's own components, over what its queries found.
import '@fontsource-variable/inter';
import React from 'react';
import { createRoot } from 'react-dom/client';
import {
  cacheFieldDisplayNames, createTheme, dateTime, EventBusSrv, getDisplayValueAlignmentFactors, getFieldDisplayValues, ThemeContext,
} from '@grafana/data';
import {
  BigValue, GlobalStyles, PanelChrome, PanelContextProvider, preparePlotFrame, Table, TimeSeries, VizRepeater,
} from '@grafana/ui';
import { StateTimeline } from './cells.jsx';
import { framesOf } from './fields.js';

const CELL = 8;
const theme = createTheme({ colors: { mode: 'dark' }, typography: { fontFamily: '"Inter Variable", sans-serif' } });
const CONTEXT = { eventBus: new EventBusSrv(), eventsScope: 'global', canAddAnnotations: () => false };

function display(panel, frames) {
  return getFieldDisplayValues({
    data: frames, theme, sparkline: panel.options.graphMode === 'area', reduceOptions: panel.options.reduceOptions,
    fieldConfig: panel.fieldConfig, replaceVariables: (text) => text, timeZone: 'utc',
  });
}

function Stat({ panel, frames, width, height }) {
  const values = display(panel, frames);
  return (
    <VizRepeater
      getValues={() => values} getAlignmentFactors={alignment} source={frames} width={width} height={height} renderCounter={0} orientation="auto" autoGrid
      itemSpacing={3}
      renderValue={({ value, width: wide, height: high, alignmentFactors, count }) => (
        <BigValue
          value={value.display} count={count} sparkline={value.sparkline} colorMode={panel.options.colorMode} theme={theme}
          graphMode={panel.options.graphMode} text={panel.options.text} justifyMode="auto" textMode="auto" width={wide} height={high}
          alignmentFactors={alignmentFactors}
        />
      )}
    />
  );
}

function aligned(frames, dimensions, range) {
  // Series that stand in one frame keep the names by which they are coloured.
  const frame = preparePlotFrame(frames, dimensions, range);
  cacheFieldDisplayNames(frame ? [frame] : []);
  return frame;
}

function alignment(values) {
  return getDisplayValueAlignmentFactors(values);
}

function Marks({ config, marks }) {
  // Each event as a dashed line over the graph, in the colour of its kind.
  React.useMemo(() => {
    config.addHook('draw', (plot) => {
      const { ctx, bbox } = plot;
      for (const { when, colour } of marks) {
        const x = plot.valToPos(when * 1000, 'x', true);
        ctx.save();
        ctx.strokeStyle = theme.visualization.getColorByName(colour);
        ctx.setLineDash([5, 5]);
        ctx.beginPath();
        ctx.moveTo(x, bbox.top);
        ctx.lineTo(x, bbox.top + bbox.height);
        ctx.stroke();
        ctx.restore();
      }
    });
  }, [config]);
  return null;
}

function Content({ panel, frames, range, marks, width, height }) {
  if (!frames.some((frame) => frame.length)) {
    return <div className="empty" style={{ width, height }}>{panel.fieldConfig.defaults.noValue ?? 'No data'}</div>;
  }
  switch (panel.type) {
    case 'stat':
      return <Stat {...{ panel, frames, width, height }} />;
    case 'table':
      return <Table data={frames[0]} width={width} height={height} cellHeight="sm" columnMinWidth={panel.fieldConfig.defaults.custom.minWidth ?? 150} initialSortBy={panel.options.sortBy} />;
    case 'state-timeline':
      return <StateTimeline {...{ frames, range, width, height, theme }} />;
    default: {
      const [from, to] = range.map((when) => dateTime(when));
      return (
        <TimeSeries
          frames={frames} structureRev={1} timeRange={{ from, to, raw: { from, to } }} timeZone="utc" width={width} height={height}
          legend={panel.options.legend} preparePlotFrame={aligned} options={panel.options}
        >
          {(config) => <Marks config={config} marks={marks} />}
        </TimeSeries>
      );
    }
  }
}

function Placed({ panel, frames, range, marks, cell }) {
  const { x, y, w, h } = panel.gridPos;
  const box = { position: 'absolute', left: x * cell.width + CELL, top: y * cell.height, width: w * cell.width - CELL, height: h * cell.height - CELL };
  if (panel.type === 'row') {
    return <h2 style={{ ...box, height: undefined }}>{panel.title}</h2>;
  }
  return (
    <div style={box}>
      <PanelChrome title={panel.title} description={panel.description} width={box.width} height={box.height} padding={panel.type === 'table' ? 'none' : 'md'}>
        {(width, height) => <Content {...{ panel, frames, range, marks, width, height }} />}
      </PanelChrome>
    </div>
  );
}

window.draw = async (page) => {
  const drawn = await Promise.all(page.panels.map(async (told) => ({ ...told, frames: told.answers ? await framesOf(told.panel, told.answers, theme) : [] })));
  createRoot(document.getElementById('page')).render(
    <ThemeContext.Provider value={theme}>
      <GlobalStyles />
      <PanelContextProvider value={CONTEXT}>
        <h1>{page.title}<small>{page.about}</small></h1>
        <div style={{ position: 'relative' }}>
          {drawn.map((told, index) => <Placed key={index} {...told} cell={page.cell} marks={page.marks} />)}
        </div>
      </PanelContextProvider>
    </ThemeContext.Provider>
  );
};
