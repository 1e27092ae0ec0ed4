package httpapi

import (
	"context"

	"github.com/patchbay-dev/patchbay/internal/feature"
)

type featureName struct {
	Name string `path:"name" maxLength:"256" doc:"The feature's name." example:"plugins"`
}

func (a *api) addFeatures() {
	const tag = "features"
	missing := []int{404, 422}
	add(a, route{method: "GET", path: "/features", id: "list-features", tag: tag, summary: "List the feature flags"},
		func(ctx context.Context, _ *struct{}) (*answer[[]feature.Feature], error) {
			features, err := a.Features.List(ctx)
			return answered(orEmpty(features), err)
		})
	add(a, route{method: "GET", path: "/features/{name}", id: "get-feature", tag: tag, summary: "Show a feature flag", errors: missing},
		func(ctx context.Context, in *featureName) (*answer[feature.Feature], error) {
			f, err := a.Features.Get(ctx, in.Name)
			return answered(f, named(err, in.Name))
		})
	add(a, route{method: "POST", path: "/feature/{name}/enable", id: "enable-feature", tag: tag, summary: "Switch a feature on",
		errors: missing}, a.setFeature(true))
	add(a, route{method: "POST", path: "/feature/{name}/disable", id: "disable-feature", tag: tag, summary: "Switch a feature off",
		errors: missing}, a.setFeature(false))
}

func (a *api) setFeature(enabled bool) func(context.Context, *featureName) (*answer[feature.Feature], error) {
	return func(ctx context.Context, in *featureName) (*answer[feature.Feature], error) {
		f, err := a.Features.Set(ctx, in.Name, enabled)
		return answered(f, named(err, in.Name))
	}
}
