package report

import (
	"runtime/debug"
	"testing"
)

func TestVersion(t *testing.T) {
	ours := debug.Module{Path: module, Version: "(devel)"}
	git := []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.modified", Value: "false"}}
	for name, tc := range map[string]struct {
		info debug.BuildInfo
		want string
	}{
		"somebody's module":    {debug.BuildInfo{Main: debug.Module{Path: "example.com/x"}, Settings: git, Deps: []*debug.Module{{Path: module, Version: "v1.2.3"}}}, "v1.2.3"},
		"a copy of somebody's": {debug.BuildInfo{Deps: []*debug.Module{{Path: module, Version: "v1.2.3", Replace: &debug.Module{Path: "../idem"}}}}, "v1.2.3+replaced"},
		"a clean tree":         {debug.BuildInfo{Main: ours, Settings: git}, "abc"},
		"a changed tree":       {debug.BuildInfo{Main: ours, Settings: []debug.BuildSetting{git[0], {Key: "vcs.modified", Value: "true"}}}, "abc+dirty"},
		"a tree of nobody":     {debug.BuildInfo{Main: ours}, ""},
		"without idem at all":  {debug.BuildInfo{Main: debug.Module{Path: "example.com/x"}, Settings: git}, ""},
	} {
		if got := version(&tc.info); got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}
