// Package render draws traces, payloads and tables for people, in the columns and colours of their
// terminal. It reads nothing and decides nothing: it gets an outcome and a writer.
//
// Text from plugins is foreign, and a terminal interprets control characters. [Line] and [Block]
// make foreign text safe, and [JSON] and [SafeJSON] do the same for values. The other functions
// make their text safe too, except [Cut], [Wrap] and [PrintUnified]: they expect text that is safe.
//
//	Trace              header, a row for each step, its changes, the verdict
//	  tableLines       aligned columns; the widest are cut to fit
//	  changes          one block for each [hook.Change]
//	    lineDiff       texts of several lines: common, removed and added lines
//	    window         one long line: the part that differs
//	  verdict          the verdict, the plugin that decided, and why
//	Table              the rows of a table, laid out by tableLines
//	Verdict            only the verdict
//	JSON               a payload, indented
package render
