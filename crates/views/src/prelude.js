// What functions of a view see of the world: nothing that differs between two replicas or two runs.
(function (global) {
  "use strict";
  const stringify = JSON.stringify;
  const parse = JSON.parse;
  const Given = Date;
  const timeless = "a view has no clock: new Date takes a time here";

  function Dated(...parts) {
    if (!new.target || parts.length === 0) throw new TypeError(timeless);
    return Reflect.construct(Given, parts, new.target);
  }
  Dated.prototype = Given.prototype;
  Dated.parse = Given.parse;
  Dated.UTC = Given.UTC;
  Given.prototype.constructor = Dated;
  // Of whatever zone the machine is, here it is UTC.
  for (const part of ["FullYear", "Month", "Date", "Day", "Hours", "Minutes", "Seconds", "Milliseconds"])
    Given.prototype["get" + part] = Given.prototype["getUTC" + part];
  Given.prototype.getTimezoneOffset = () => 0;
  global.Date = Dated;
  delete Math.random;

  let rows = [];
  let isFull = false;
  global.emit = (key, value) => {
    if (rows.length >= 2 * ROWS_MAX) {
      isFull = true;
      throw new RangeError("more rows emitted than " + ROWS_MAX);
    }
    rows.push(key === undefined ? null : key, value === undefined ? null : value);
  };
  global.sum = (values) => values.reduce((all, value) => all + value, 0);
  let given = null;
  global[SET] = (source) => {
    given = source;
    delete global[SET];
    Object.freeze(global);
  };
  global[MAP] = (doc, meta) => {
    rows = [];
    isFull = false;
    given(doc, meta);
    if (isFull) throw new RangeError("more rows emitted than " + ROWS_MAX);
    const text = stringify(rows);
    rows = [];
    return text;
  };
  global[REDUCE] = (keys, values, rereduce) => {
    const reduced = given(parse(keys), parse(values), rereduce);
    rows = [];
    return stringify(reduced === undefined ? null : reduced);
  };
  for (const name of ["JSON", "Math", "Object", "Reflect"]) Object.freeze(global[name]);
})(globalThis);
