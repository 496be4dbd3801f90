package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/configs"
	"flotilla/configs/secrets"
)

func TestWhereSecretsComeFrom(t *testing.T) {
	t.Setenv(secrets.Variable, "in the environment")
	for _, c := range []struct {
		config configs.Hub
		expect secrets.Source
	}{
		{configs.Hub{}, secrets.Source{Text: "in the environment"}},
		{configs.Hub{Secrets: "file.json"}, secrets.Source{File: "file.json"}},
		{configs.Hub{SecretsCommand: "kms read"}, secrets.Source{Command: "kms read"}},
	} {
		require.Equal(t, c.expect, secretsOf(&c.config))
	}
	t.Setenv(secrets.Variable, "")
	require.False(t, secretsOf(&configs.Hub{}).Given(), "then it is a file in the data directory")

	c := command()
	c.SetArgs([]string{"--secrets", "file.json", "--secrets-command", "kms read"})
	require.ErrorContains(t, c.ExecuteContext(t.Context()), "expected one of secrets and secretsCommand")
}
