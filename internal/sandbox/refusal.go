package sandbox

import "fmt"

// A Refusal is the error for something that a plugin asks for and its sandbox does not allow.
type Refusal struct {
	Why      string // what was asked for, and why it is refused
	Grant    string // the capability that would allow it; empty if none would
	OtherFix string // what else would help; may be empty
}

func (r *Refusal) Error() string {
	if r.Grant == "" {
		return r.Why
	}
	return fmt.Sprintf("%s. To allow it, add %q to its capabilities", r.Why, r.Grant)
}

// Fix returns what to add to the configuration, or what else to do.
func (r *Refusal) Fix() string {
	switch {
	case r.Grant == "" && r.OtherFix == "":
		return "correct that path, or its capabilities: in its manifest, or as a list under its table in config.toml"
	case r.Grant == "":
		return r.OtherFix
	}
	return fmt.Sprintf("if the plugin may have it, add %q to its capabilities", r.Grant)
}
