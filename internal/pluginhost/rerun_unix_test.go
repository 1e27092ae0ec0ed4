//go:build unix

package pluginhost_test

import (
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest/rerun"
)

// TestNamesAndPipesAgain: names, named pipes and storage are the same for every user, and wherever
// the home lies.
func TestNamesAndPipesAgain(t *testing.T) {
	rerun.Tests(t, "TestWhatGivesGoesByThePlace", "TestNamesCountForPluginsThatAreNotOpened", "TestStorageIsNotShared", "TestTwoInOneNamedDirectory",
		"TestAnEnvironmentThatIsInheritedIsNarrowed", "TestWhatRestrictsHoldsForAllWhoBearTheName", "TestABareNameOfTwoRestrictsBoth",
		"TestOtherSettingsGoByEitherName", "TestAPlacesNameIsItsOwn", "TestPythonFilesHaveTheirNames", "TestADotagentPluginsOwnName",
		"TestFindingsAboutNames", "TestBoundsOfAPluginThatHasAnotherName", "TestNothingWaitsForAPipe", "TestStorageIsHeldToItsLimits",
		"TestNoGrantOpensPatchbaysOwnPlaces", "TestNoPlaceForPluginsIsMade", "TestAProjectsConfigIsNotWritten",
		"TestPluginsThatLieElsewhere", "TestCheckedCodeSeesNoPlaceOfOurs")
}
