package seal_test

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/klauspost/compress/s2"
	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/seal"
	"flotilla/tests/limits"
)

const limit = 1 << 20

func ring(t *testing.T, seed byte) *seal.Keyring {
	t.Helper()
	k, err := seal.NewKeyring(rand.NewChaCha8([32]byte{seed}))
	require.NoError(t, err)
	require.NoError(t, k.Check())
	return k
}

func sealed(t *testing.T, p api.Piece, body []byte) []byte {
	t.Helper()
	out, err := seal.Seal(p, body)
	require.NoError(t, err)
	return out
}

func TestWhatIsSealedIsOpenedAgainAndByNothingElse(t *testing.T) {
	k, other := ring(t, 1), ring(t, 2)
	for name, body := range map[string][]byte{
		"nothing": {}, "a byte": []byte("x"), "text": []byte(strings.Repeat(`{"password":"hunter2"}`, 100)), "noise": noise(5000),
	} {
		t.Run(name, func(t *testing.T) {
			piece := k.Piece(k.Digest(body))
			out := sealed(t, piece, body)
			require.LessOrEqual(t, len(out), len(body)+seal.Overhead)
			found, err := seal.Open(piece, out, limit)
			require.NoError(t, err)
			require.Equal(t, string(body), string(found))
			require.Equal(t, out, sealed(t, piece, body), "equal content gives equal bytes")
			require.NotContains(t, string(out), "hunter2")

			foreign := other.Piece(other.Digest(body))
			_, err = seal.Open(foreign, out, limit)
			require.ErrorIs(t, err, seal.ErrSealed)
			elsewhere := piece
			elsewhere.At = foreign.At
			_, err = seal.Open(elsewhere, out, limit)
			require.ErrorIs(t, err, seal.ErrSealed, "a ciphertext is bound to its place")
		})
	}
}

func TestAnyByteThatChangesIsNoticed(t *testing.T) {
	k := ring(t, 1)
	body := []byte(strings.Repeat("abc", 20))
	piece := k.Piece(k.Digest(body))
	out := sealed(t, piece, body)
	for i := range out {
		changed := bytes.Clone(out)
		changed[i] ^= 1
		_, err := seal.Open(piece, changed, limit)
		require.ErrorIs(t, err, seal.ErrSealed, "byte %d", i)
	}
	for i := range out {
		_, err := seal.Open(piece, out[:i], limit)
		require.ErrorIs(t, err, seal.ErrSealed, "%d bytes of it", i)
	}
}

func TestBodiesAreBoundedBeforeTheyAreUnpacked(t *testing.T) {
	k := ring(t, 1)
	for name, body := range map[string][]byte{"zeros": make([]byte, 64<<20), "noise": noise(2 << 20)} {
		piece := k.Piece(k.Digest(body))
		out := sealed(t, piece, body)
		limits.Hold(t, len(out), func() {
			_, err := seal.Open(piece, out, limit)
			require.ErrorIs(t, err, seal.ErrTooLong, name)
		})
		found, err := seal.Open(piece, out, len(body))
		require.NoError(t, err)
		require.Len(t, found, len(body))
	}
}

func TestDigestsPlacesAndKeysAreOfTheSecrets(t *testing.T) {
	k, other := ring(t, 1), ring(t, 2)
	body := []byte("a body")
	digest := k.Digest(body)
	require.Len(t, digest, 64)
	require.Equal(t, digest, k.Digest([]byte("a body")))
	require.NotEqual(t, digest, k.Digest([]byte("another")))
	require.NotEqual(t, digest, other.Digest(body), "nobody without the secrets can tell")

	piece, foreign := k.Piece(digest), other.Piece(digest)
	require.Len(t, piece.At, 64)
	require.Len(t, piece.Key, seal.KeyBytes)
	require.NotEqual(t, piece.At, foreign.At)
	require.NotEqual(t, piece.Key, foreign.Key)
	require.NotEqual(t, digest, piece.At, "a digest that is shown tells nothing of where the body lies")
}

func TestARotationChangesNoDigestAndOpensWhatWasSealedBefore(t *testing.T) {
	old := ring(t, 1)
	rotated := &seal.Keyring{Digests: old.Digests, Content: [][]byte{ring(t, 3).Content[0], old.Content[0]}}
	body := []byte("a body")
	digest := old.Digest(body)
	require.Equal(t, digest, rotated.Digest(body))
	require.Equal(t, old.Piece(digest), rotated.Pieces(digest)[1])
	require.NotEqual(t, old.Piece(digest), rotated.Piece(digest))
	found, err := seal.Open(rotated.Pieces(digest)[1], sealed(t, old.Piece(digest), body), limit)
	require.NoError(t, err)
	require.Equal(t, body, found)
}

func TestCheckSaysWhatIsWrongWithoutShowingIt(t *testing.T) {
	good := ring(t, 1)
	for _, c := range []struct {
		ring   seal.Keyring
		expect string
	}{
		{seal.Keyring{}, "digests: found 0 bytes, expected 32"},
		{seal.Keyring{Digests: good.Digests}, "content: found no secret"},
		{seal.Keyring{Digests: good.Digests, Content: [][]byte{good.Content[0], []byte("short")}}, "content[1]: found 5 bytes, expected 32"},
		{seal.Keyring{Digests: good.Digests, Content: [][]byte{good.Content[0], good.Content[0]}}, "content[1]: found a secret twice"},
	} {
		require.ErrorContains(t, c.ring.Check(), c.expect)
	}
	require.Len(t, seal.Name(good.Content[0]), 12)
	require.NotEqual(t, seal.Name(good.Content[0]), seal.Name(good.Digests))
}

func TestAKeyOfTheWrongLengthIsRefused(t *testing.T) {
	_, err := seal.Seal(api.Piece{Key: []byte("short")}, nil)
	require.ErrorContains(t, err, "a key of 5 bytes, expected 32")
	_, err = seal.Open(api.Piece{}, make([]byte, 100), limit)
	require.ErrorContains(t, err, "a key of 0 bytes, expected 32")
}

// FuzzOpen opens bytes of strangers.
func FuzzOpen(f *testing.F) {
	piece := api.Piece{At: "here", Key: make([]byte, seal.KeyBytes)}
	for _, body := range []string{"", "x", strings.Repeat("abc", 1000)} {
		out, err := seal.Seal(piece, []byte(body))
		require.NoError(f, err)
		f.Add(out)
	}
	f.Fuzz(func(t *testing.T, stored []byte) {
		limits.Hold(t, len(stored), func() {
			body, err := seal.Open(piece, stored, limit)
			require.True(t, err != nil || len(body) <= limit)
		})
	})
}

func noise(n int) []byte {
	out := make([]byte, n)
	source := rand.NewChaCha8([32]byte{9})
	_, _ = source.Read(out)
	if len(s2.Encode(nil, out)) < n {
		panic("noise compresses")
	}
	return out
}

// The secret that content is sealed with now is the first, and is named without being shown.
func TestTheSecretThatContentIsSealedWithHasAName(t *testing.T) {
	k := ring(t, 1)
	k.Content = append([][]byte{bytes.Repeat([]byte("n"), 32)}, k.Content...)
	require.Equal(t, seal.Name(k.Content[0]), k.Sealing())
	require.NotEqual(t, seal.Name(k.Content[1]), k.Sealing())
	require.Len(t, k.Sealing(), 12)
	require.NotContains(t, k.Sealing(), "n")
}
