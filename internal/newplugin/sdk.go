package newplugin

// What the SDKs are called beside a plugin.
const (
	goSDKDir      = "patchbay-sdk"
	pythonSDK     = "patchbay_plugin.py"
	pythonHarness = "patchbay_plugintest.py"
)

// usesSDK tells whether the template of a pair is written with an SDK.
func usesSDK(r Request) bool {
	return r.Language == golang || r.Language == python && r.Dialect != "python"
}

func sdkFiles(r Request) ([]File, error) { return nil, nil }

func goMod(r Request) string { return "" }
