package server_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/nats-io/jwt/v2"
	"github.com/stretchr/testify/require"

	"flotilla/bus/server"
	"flotilla/subjects"
)

// A leaf node may do what the agents of its members may, all of them together, and nothing else.
func TestALeafNodeSpeaksForItsMembersAlone(t *testing.T) {
	dir, _ := accounts(t)
	out := filepath.Join(t.TempDir(), "edge")
	files, err := server.MakeLeaf(dir, out, server.Leaf{Name: "edge", URLs: []string{"nats://n1:7422"}, Members: []string{"oslo", "rome"}})
	require.NoError(t, err)
	held, err := os.ReadDir(out)
	require.NoError(t, err)
	require.Len(t, held, len(files))

	f := subjects.Fleet{Name: "shop"}
	oslo, rome := f.AgentPermissions("oslo"), f.AgentPermissions("rome")
	for name, may := range map[string]subjects.Permissions{
		"agents.creds": {Publish: append(oslo.Publish, rome.Publish...), Subscribe: append(oslo.Subscribe, rome.Subscribe...)},
		"claims.creds": subjects.LeafPermissions("edge"),
	} {
		text, err := os.ReadFile(filepath.Join(out, name))
		require.NoError(t, err)
		token, err := jwt.ParseDecoratedJWT(text)
		require.NoError(t, err)
		claims, err := jwt.DecodeUserClaims(token)
		require.NoError(t, err)
		require.ElementsMatch(t, distinct(may.Publish), claims.Pub.Allow, name)
		require.ElementsMatch(t, distinct(may.Subscribe), claims.Sub.Allow, name)
		require.Equal(t, jwt.StringList{jwt.ConnectionTypeLeafnode}, claims.AllowedConnectionTypes, name)
	}
}

func distinct(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

func TestLeafNodesThatCannotBeMade(t *testing.T) {
	dir, _ := accounts(t)
	leaf := server.Leaf{Name: "edge", URLs: []string{"nats://n1:7422"}, Members: []string{"oslo"}}
	_, err := server.MakeLeaf(dir, dir, leaf)
	require.ErrorContains(t, err, "keys are never overwritten")
	_, err = server.MakeLeaf(t.TempDir(), filepath.Join(t.TempDir(), "a"), leaf)
	require.ErrorContains(t, err, "there is no keys.json in it")
	_, err = server.MakeLeaf(dir, filepath.Join(t.TempDir(), "a"), server.Leaf{Name: "No", Members: []string{"oslo", "*"}})
	for _, want := range []string{`leaf node name "No"`, "--url nats://n1:7422", `member name "*"`} {
		require.ErrorContains(t, err, want, "every fault at once")
	}
	_, err = server.MakeLeaf(dir, filepath.Join(t.TempDir(), "a"), server.Leaf{Name: "edge", URLs: []string{"http://n1"}})
	require.ErrorContains(t, err, `found scheme "http"`)
	require.ErrorContains(t, err, "--member oslo")
	many := leaf
	for i := range 100 {
		many.Members = append(many.Members, fmt.Sprintf("member-%d", i))
	}
	out := filepath.Join(t.TempDir(), "many")
	_, err = server.MakeLeaf(dir, out, many)
	require.ErrorContains(t, err, "share them among several")
	require.NoDirExists(t, out)
	require.NoError(t, os.Remove(filepath.Join(dir, "offline", "SYS.nk")))
	_, err = server.MakeLeaf(dir, filepath.Join(t.TempDir(), "a"), leaf)
	require.ErrorContains(t, err, "takes the key of account SYS, put it back for as long")
}
