package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// planted holds packages that fail in known ways.
const planted = "../rerun/testdata/"

func TestWhatFailsNowAndThenIsFound(t *testing.T) {
	t.Setenv("PLANTED", t.TempDir())
	end := busy(2)
	defer end()
	var progress, out bytes.Buffer
	log, err := hunt(3, false, []string{planted + "flaky", planted + "failing", planted + "sound"}, &progress)
	require.NoError(t, err)
	require.Equal(t, "round 1 of 3: 2 tests failed so far\nround 2 of 3: 2 tests failed so far\nround 3 of 3: 2 tests failed so far\n", progress.String())
	require.Equal(t, 2, report(&out, log, 3))
	require.Regexp(t, `(?s)^
3 of 3  flotilla/tests/rerun/testdata/failing TestFails\n.*always.*
1 of 3  flotilla/tests/rerun/testdata/flaky TestEveryOther/case\n.*this is the first time.*
2 tests failed in 3 rounds
  3 of 3  flotilla/tests/rerun/testdata/failing TestFails
  1 of 3  flotilla/tests/rerun/testdata/flaky TestEveryOther/case
$`, out.String())
}

func TestWhatIsBrokenIsFound(t *testing.T) {
	var progress, out bytes.Buffer
	log, err := hunt(1, false, []string{planted + "nobuild", "./missing"}, &progress)
	require.NoError(t, err)
	require.Equal(t, 2, report(&out, log, 1))
	require.Contains(t, out.String(), "flotilla/tests/rerun/testdata/nobuild does not build")
	require.Contains(t, out.String(), "./missing does not build")
}
