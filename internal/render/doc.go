// Package render draws what people read: traces, payloads and tables, in the columns and colours a
// terminal has. It decides nothing and reads nothing: it is given an outcome and a writer.
//
// Everything a plugin wrote is foreign text, and a terminal obeys what it reads. No function here
// lets a control character through: [Line] and [Block] are the two ways in which foreign text is
// made fit to be shown, and [JSON] and [SafeJSON] do the same for values. Text that is given to
// [Options.Paint] or to a [Cell] passes through Line there.
//
//	Trace              header, one row a step, its changes, the verdict
//	  Table            aligned columns, the widest cut to fit
//	  changes          one block for each [hook.Change]
//	    lineDiff       texts of several lines: what is common, gone and new
//	    window         one long line: the part that differs
//	  Verdict          how the event came out, who decided, why
//	JSON               a payload, indented
package render
