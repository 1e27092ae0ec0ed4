package tui

// A language holds the keywords and marks of a language.
type language struct {
	keywords string // each between two spaces
	anyCase  bool   // keywords may be in capitals
	spans    []span // the first that fits applies
	names    bool   // it is data: a word before assigns is a name
	assigns  string
}

// The comments and strings that languages have.
var (
	slashes = span{begin: "//", face: faceComment}
	hash    = span{begin: "#", face: faceComment}
	dashes  = span{begin: "--", face: faceComment}
	stars   = span{begin: "/*", end: "*/", face: faceComment, lines: true}
	double  = span{begin: `"`, end: `"`, face: faceString, escapes: true}
	single  = span{begin: "'", end: "'", face: faceString, escapes: true}
	plainly = span{begin: "'", end: "'", face: faceString}
	grave   = span{begin: "`", end: "`", face: faceString, lines: true}
	three   = span{begin: `"""`, end: `"""`, face: faceString, lines: true, escapes: true}
	threes  = span{begin: "'''", end: "'''", face: faceString, lines: true, escapes: true}
)

// languageOf finds a language by the name that a fence has. It knows the names that models write
// most.
func languageOf(name string) (language, bool) {
	switch name {
	case "go", "golang":
		return language{keywords: goWords, spans: []span{slashes, stars, double, single, grave}}, true
	case "python", "py", "python3":
		return language{keywords: pythonWords, spans: []span{hash, three, threes, double, single}}, true
	case "javascript", "js", "jsx", "typescript", "ts", "tsx", "mjs", "svelte", "vue":
		return language{keywords: scriptWords, spans: []span{slashes, stars, double, single, grave}}, true
	case "sh", "bash", "zsh", "shell", "console", "shellscript":
		return language{keywords: shellWords, spans: []span{hash, double, plainly}}, true
	case "rust", "rs":
		return language{keywords: rustWords, spans: []span{slashes, stars, double}}, true
	case "c", "h", "cpp", "c++", "cc", "hpp", "java", "kotlin", "kt", "csharp", "cs", "c#", "swift", "php", "scala", "dart", "zig":
		return language{keywords: cWords, spans: []span{slashes, stars, double, single}}, true
	case "ruby", "rb":
		return language{keywords: rubyWords, spans: []span{hash, double, single}}, true
	case "lua":
		return language{keywords: luaWords, spans: []span{dashes, double, single}}, true
	case "sql", "postgres", "postgresql", "mysql", "sqlite":
		return language{keywords: sqlWords, anyCase: true, spans: []span{dashes, stars, plainly, double}}, true
	case "json", "jsonc", "json5":
		return language{keywords: dataWords, spans: []span{slashes, double}}, true
	case "yaml", "yml":
		return language{keywords: dataWords, names: true, assigns: ":", spans: []span{hash, double, plainly}}, true
	case "toml", "ini", "conf":
		return language{keywords: dataWords, names: true, assigns: "=", spans: []span{hash, three, threes, double, plainly}}, true
	case "dockerfile", "docker", "makefile", "make":
		return language{keywords: dockerWords, spans: []span{hash, double, plainly}}, true
	}
	return language{}, false
}

const (
	goWords = " break case chan const continue default defer else fallthrough for func go goto if import interface map package" +
		" range return select struct switch type var nil true false iota "
	pythonWords = " and as assert async await break class continue def del elif else except finally for from global if import in is" +
		" lambda match case nonlocal not or pass raise return try while with yield None True False self "
	scriptWords = " async await break case catch class const continue default delete do else enum export extends finally for from" +
		" function if implements import in instanceof interface let new null of private public readonly return static super switch" +
		" this throw true false try type typeof undefined var void while yield "
	shellWords = " case do done elif else esac export fi for function if in local readonly return select set shift source then" +
		" trap unset until while "
	rustWords = " as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut" +
		" pub ref return self Self static struct super trait true type unsafe use where while Some None Ok Err "
	cWords = " abstract auto bool boolean break byte case catch char class const constexpr continue data default defer delete do double" +
		" else enum explicit export extends extern false final finally float fn for fun func function goto guard if implements import" +
		" in inline int interface internal is let long namespace new nil null nullptr object operator override package private" +
		" protected public return short signed sizeof static struct super switch template this throw throws true try typedef" +
		" typename union unsigned using val var virtual void volatile when while include define ifdef ifndef endif pragma "
	rubyWords = " alias and begin break case class def do else elsif end ensure false for if in module next nil not or raise redo" +
		" require rescue retry return self super then true undef unless until when while yield "
	luaWords = " and break do else elseif end false for function goto if in local nil not or repeat return then true until while "
	sqlWords = " add all alter and any as asc begin between by case check column commit constraint create cross default delete desc" +
		" distinct drop else end exists foreign from full group having in index inner insert into is join key left like limit" +
		" not null offset on or order outer primary references returning right rollback select set table then transaction" +
		" union unique update values view when where with true false "
	dataWords   = " true false null yes no on off "
	dockerWords = " ADD ARG CMD COPY ENTRYPOINT ENV EXPOSE FROM AS HEALTHCHECK LABEL RUN SHELL USER VOLUME WORKDIR ifeq ifneq else endif" +
		" include define endef export "
)
