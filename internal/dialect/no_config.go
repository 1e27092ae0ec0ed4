package dialect

import (
	"fmt"

	"github.com/patchbay-dev/patchbay/rawjson"
)

// NoConfig reports config that a plugin never gets, because its protocol delivers none.
func (rt *Runtime) NoConfig(dialect, plugin string, s Settings) {
	fix := fmt.Sprintf("remove it; a %s plugin reads its settings itself, for example from a variable that `env` names", dialect)
	if filled(s.Config) {
		rt.Odd(fmt.Sprintf("the config of [plugins.%s] has no effect: %s plugins get none", plugin, dialect), fix)
	}
	rt.NoSecrets(dialect, plugin, s, fix)
}

// NoSecrets reports a table of the secrets file that a plugin never gets.
func (rt *Runtime) NoSecrets(dialect, plugin string, s Settings, fix string) {
	if filled(s.SystemConfig) {
		rt.Odd(fmt.Sprintf("[plugins.%s] in the secrets file has no effect: %s plugins do not get it", plugin, dialect), fix)
	}
}

func filled(config []byte) bool {
	o, err := rawjson.Parse(config)
	return err == nil && len(o) > 0
}
