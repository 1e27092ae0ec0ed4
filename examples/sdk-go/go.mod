module example.com/veil

go 1.26

require github.com/patchbay-dev/patchbay/sdk/go v0.0.0

replace github.com/patchbay-dev/patchbay/sdk/go => ../../sdk/go
