module github.com/patchbay-dev/patchbay/sdk/go

go 1.26
