// A module of the old kind whose default is lost where a module of the new kind imports it.
export { Scrollbars as default } from './node_modules/react-custom-scrollbars-2/lib/index.js';
