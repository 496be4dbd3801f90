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
	require.Len(t, blocks, 1)
	h, err := configs.LoadHub("docs/notifications.md", blocks[0][1])
	require.NoError(t, err)
	require.Len(t, h.Notifications, 3)
}
