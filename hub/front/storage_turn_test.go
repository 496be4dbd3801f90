package front

import (
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/hub/front/turns"
)

// Handlers change objects beside the request: what begins once whoever asked has gone does nothing, and holds nothing that nobody gives back.
func TestWhatBeginsAfterTheRequestDoesNothing(t *testing.T) {
	t.Parallel()
	turn, err := turns.NewAll().Writing.Enter("anna")
	require.NoError(t, err)
	turn.Leave()
	ctx, s := turns.With(t.Context(), turn), &storage{}
	for what, do := range map[string]func() error{
		"create":            func() error { _, err := s.Create(ctx, &unstructured.Unstructured{}, nil, nil); return err },
		"update":            func() error { _, _, err := s.Update(ctx, "a", nil, nil, nil, false, nil); return err },
		"delete":            func() error { _, _, err := s.Delete(ctx, "a", nil, nil); return err },
		"delete collection": func() error { _, err := s.DeleteCollection(ctx, nil, nil, nil); return err },
	} {
		require.True(t, apierrors.IsTimeout(do()), what)
	}
}
