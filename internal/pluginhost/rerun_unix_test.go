//go:build unix

package pluginhost_test

import (
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest/rerun"
)

// TestNamesAndPipesAgain: names, named pipes and storage work for every user, and in every home.
func TestNamesAndPipesAgain(t *testing.T) {
	rerun.Tests(t, "TestGrantsGoByThePlace", "TestNamesCountForPluginsThatAreNotOpened", "TestStorageIsNotShared", "TestTwoDirectoriesWithOneName",
		"TestAnEnvironmentThatIsInheritedIsNarrowed", "TestRestrictionsApplyToAllWithTheName", "TestABareNameOfTwoRestrictsBoth",
		"TestOtherSettingsGoByEitherName", "TestAPlacesNameIsItsOwn", "TestPythonFilesHaveTheirNames", "TestADotagentPluginsOwnName",
		"TestFindingsAboutNames", "TestBoundsOfAPluginThatHasAnotherName", "TestNothingWaitsForAPipe", "TestStorageIsLimited",
		"TestNoGrantOpensPatchbaysOwnPlaces", "TestNoPlaceForPluginsIsMade", "TestAProjectsConfigIsNotWritten",
		"TestPluginsThatLieElsewhere", "TestCheckedCodeSeesNoPlaceOfOurs")
}
