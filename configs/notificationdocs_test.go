package configs_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/configs"
)

func TestNotificationsOfTheDocumentAreAccepted(t *testing.T) {
	text, err := os.ReadFile("../docs/notifications.md")
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```\n").FindAllSubmatch(text, -1)
	var names []string
	for i, block := range blocks {
		body := block[1]
		if i > 0 { // a single one
			body = append([]byte("notifications:\n"), body...)
		}
		h, err := configs.LoadHub("docs/notifications.md", body)
		require.NoError(t, err)
		for _, n := range h.Notifications {
			names = append(names, n.Name)
		}
	}
	require.Equal(t, []string{"gates", "failures", "ended", "placements"}, names)
}
