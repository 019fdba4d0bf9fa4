// Rows as an Excel workbook (.xlsx) with one sheet; texts are never taken for formulas.

import { archived } from "./archive.js";
import { Problem } from "./problems.js";
import { asText } from "./tables.js";
import { serial } from "./workbook.js";
import { number } from "./wording.js";

const CELL = 32_767; // characters of a cell of Excel
const HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>';
const MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
const OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const PACKAGE = "http://schemas.openxmlformats.org/package/2006";
const KIND = "application/vnd.openxmlformats-officedocument.spreadsheetml";
const TO_BOOK = [["rId1", "officeDocument", "xl/workbook.xml"]];
const TO_PARTS = [["rId1", "worksheet", "worksheets/sheet1.xml"], ["rId2", "styles", "styles.xml"]];
const FORMATS = [0, 14, 22]; // of a number, a date, and a date with a time
// Excel asks for one of each, and for two fills
const STYLES = '<fonts count="1"><font><sz val="11"/><name val="Calibri"/></font></fonts>'
  + '<fills count="2"><fill><patternFill patternType="none"/></fill>'
  + '<fill><patternFill patternType="gray125"/></fill></fills><borders count="1"><border><left/>'
  + '<right/><top/><bottom/><diagonal/></border></borders><cellStyleXfs count="1">'
  + '<xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>';
const FROZEN = '<sheetViews><sheetView workbookViewId="0"><pane ySplit="1" topLeftCell="A2" '
  + 'activePane="bottomLeft" state="frozen"/></sheetView></sheetViews>';

/** Return a workbook of rows, which are lists of texts, numbers and dates, as pieces of a file. */
export function asWorkbook(name, rows, header) {
  return archived([
    ["[Content_Types].xml", [HEAD, `<Types xmlns="${PACKAGE}/content-types">`,
      '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.',
      'relationships+xml"/>', ...[["workbook", "sheet.main"], ["worksheets/sheet1", "worksheet"],
        ["styles", "styles"]].map(([part, kind]) =>
        `<Override PartName="/xl/${part}.xml" ContentType="${KIND}.${kind}+xml"/>`), "</Types>"]],
    ["_rels/.rels", relations(TO_BOOK)],
    ["xl/workbook.xml", [HEAD, `<workbook xmlns="${MAIN}" xmlns:r="${OFFICE}"><sheets>`,
      `<sheet name="${escaped(name)}" sheetId="1" r:id="rId1"/></sheets></workbook>`]],
    ["xl/_rels/workbook.xml.rels", relations(TO_PARTS)],
    ["xl/styles.xml", [HEAD, `<styleSheet xmlns="${MAIN}">`, STYLES,
      `<cellXfs count="${FORMATS.length}">`, ...FORMATS.map((format) =>
        `<xf numFmtId="${format}" fontId="0" fillId="0" borderId="0" applyNumberFormat="1"/>`),
      '</cellXfs><cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/>',
      "</cellStyles></styleSheet>"]],
    ["xl/worksheets/sheet1.xml", [HEAD, `<worksheet xmlns="${MAIN}">`, header ? FROZEN : "",
      "<sheetData>", ...rows.map((cells) => `<row>${cells.map(cell).join("")}</row>`),
      "</sheetData></worksheet>"]],
  ]);
}

const relations = (targets) => [HEAD, `<Relationships xmlns="${PACKAGE}/relationships">`,
  ...targets.map(([id, kind, target]) =>
    `<Relationship Id="${id}" Type="${OFFICE}/${kind}" Target="${target}"/>`), "</Relationships>"];

function cell(value) {
  if (typeof value === "number") return `<c><v>${value}</v></c>`;
  if (value instanceof Date) {
    const days = serial(value);
    return `<c s="${Number.isInteger(days) ? 1 : 2}"><v>${days}</v></c>`;
  }
  const text = asText(value);
  if (text.length > CELL) {
    throw new Problem(`A cell would have ${number(text.length)} characters, and Excel takes `
      + `${number(CELL)}. Download CSV instead.`);
  }
  return text && `<c t="inlineStr"><is><t xml:space="preserve">${escaped(text)}</t></is></c>`
    || "<c/>";
}

const NAMES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

/** A text in XML; characters that XML cannot hold are written as Excel writes them. */
const escaped = (text) => text.replace(/[&<>"]/g, (letter) => NAMES[letter])
  .replace(/[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g, (letter) =>
    `_x${letter.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}_`);
