// Package editfile changes one value in a file that a person wrote, and leaves every other byte as
// it is: comments, formatting, line endings, the file's mode and owner.
//
// It knows TOML and JSON, the latter also with comments and with commas before a closing bracket.
// It does not know what a file is for, does not reformat, and never rewrites a file from its
// values.
//
//	Edit               the file: one writer at a time, a backup, replaced as a whole
//	├─ open            a regular file in its directory, or none yet
//	├─ change          the new text, made by some of the functions below
//	└─ replace         refused if the file has changed meanwhile
//
//	SetTOML, RemoveTOML, AddTOMLTable, DropTOMLTables, SetJSON, RemoveJSON, PutItem, DropItems
//	├─ scanTOML, scanJSON   find each key and value
//	├─ tomlPlaces, place    the ways to write the value, one splice of the text each
//	└─ firstGood            parses the new text: it must differ from the old at the path, and nowhere else
//
//	MaskTOML           a text for showing, without secret values
package editfile
