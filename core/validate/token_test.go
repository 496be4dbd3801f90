package validate

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

func TestATokenIsOneWord(t *testing.T) {
	token := api.Token{Fleet: "default", Member: "berlin", URL: "nats://hub:4222", CA: "-----BEGIN CERTIFICATE-----\nx\n", Seed: "SUA", Credentials: "ey.J.0"}
	text := token.String()
	require.NotContains(t, text, " ")
	require.NotContains(t, text, "\n")
	read, err := Token(" " + text + "\n")
	require.NoError(t, err)
	require.Equal(t, token, read)
}

func TestWhatIsNoTokenIsSaidWithoutShowingIt(t *testing.T) {
	whole := api.Token{Fleet: "default", Member: "berlin", Seed: "SUAsecret"}.String()
	for name, c := range map[string]struct{ text, want string }{
		"nothing":       {"\n", "the token is empty"},
		"creds":         {"-----BEGIN NATS USER JWT-----secret", "no token, expected what `flotilla member enrol` prints"},
		"half":          {whole[:len(whole)-3], "part of it may be missing"},
		"no member":     {api.Token{Fleet: "default", Seed: "SUAsecret"}.String(), "member: found"},
		"another fleet": {api.Token{Fleet: "A b", Member: "berlin", Seed: "SUAsecret"}.String(), "fleet: found"},
		"no key":        {api.Token{Fleet: "default", Member: "berlin"}.String(), "holds no key"},
		"endless":       {api.TokenPrefix + strings.Repeat("A", api.MaxToken), "no token"},
	} {
		_, err := Token(c.text)
		require.ErrorContains(t, err, c.want, name)
		require.NotContains(t, err.Error(), "secret", name)
	}
}
