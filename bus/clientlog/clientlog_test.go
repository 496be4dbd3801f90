package clientlog

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"

	"flotilla/bus/lines"
)

// said is what comes of speaking while a process logs at a level. The tests of this package run one after another: who
// hears klog is one for the whole process.
func said(t *testing.T, level zerolog.Level, speak func()) string {
	t.Helper()
	var heard bytes.Buffer
	Into(zerolog.New(&heard).Level(level))
	t.Cleanup(klog.ClearLogger)
	speak()
	klog.Flush()
	return heard.String()
}

func TestWhatTheLibrariesSayIsALineOfTheLog(t *testing.T) {
	object := klog.KRef("shop", "web")
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, StringData: map[string]string{"password": "hunter2"}}
	for name, one := range map[string]struct {
		speak func()
		line  string
	}{
		"a note":                 {func() { klog.Background().Info("listed", "object", object) }, `{"level":"info","by":"client-go","object":"shop/web","message":"listed"}`},
		"an object":              {func() { klog.Background().Info("x", "o", secret) }, `{"level":"info","by":"client-go","o":"shop/web","message":"x"}`},
		"a failure":              {func() { klog.Background().Error(errors.New("refused"), "watching") }, `{"level":"warn","by":"client-go","error":"refused","message":"watching"}`},
		"one that is handled":    {func() { utilruntime.HandleError(errors.New("refused")) }, `{"level":"warn","by":"client-go","error":"refused","part":"UnhandledError","message":"Unhandled Error"}`},
		"of a part":              {func() { klog.Background().WithName("a").WithName("b").V(2).Info("x") }, `{"level":"debug","by":"client-go","part":"a/b","message":"x"}`},
		"with values":            {func() { klog.Background().WithValues("type", "Pod", "err", errors.New("e")).V(4).Info("x") }, `{"level":"trace","by":"client-go","type":"Pod","err":"e","message":"x"}`},
		"a key without a value":  {func() { klog.Background().Info("x", "a", 1, "b") }, `{"level":"info","by":"client-go","a":1,"message":"x"}`},
		"in the older way":       {func() { klog.Infof("%d watches", 7) }, `{"level":"info","by":"client-go","message":"7 watches"}`},
		"an older failure":       {func() { klog.Errorf("lost %d", 7) }, `{"level":"warn","by":"client-go","message":"lost 7"}`},
		"what would end a line":  {func() { klog.Background().Info("a\n{\"level\":\"error\"}") }, `{"level":"info","by":"client-go","message":"a\n{\"level\":\"error\"}"}`},
		"requests":               {func() { klog.Background().V(6).Info("GET https://berlin") }, ""},
		"the body of a request":  {func() { klog.Background().V(8).Info("Request Body", "body", "hunter2") }, ""},
		"an older one in detail": {func() { klog.V(2).Info("hunter2") }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			wanted := one.line
			if wanted != "" {
				wanted += "\n"
			}
			require.Equal(t, wanted, said(t, zerolog.TraceLevel, one.speak))
		})
	}
}

// Nothing is told below the level of the log, and nothing goes past it to the process's stderr.
func TestTheLevelOfTheLogHolds(t *testing.T) {
	stderr, path := os.Stderr, t.TempDir()+"/stderr"
	file, err := os.Create(path)
	require.NoError(t, err)
	os.Stderr = file
	defer func() { os.Stderr = stderr }()
	speak := func() {
		log := klog.Background()
		log.V(1).Info("debug")
		log.V(4).Info("trace")
		log.Info("info")
		klog.Warning("an older warning")
		log.Error(nil, "a failure")
	}
	const failure = `{"level":"warn","by":"client-go","message":"a failure"}`
	require.JSONEq(t, failure, said(t, zerolog.WarnLevel, speak))
	require.Empty(t, said(t, zerolog.ErrorLevel, speak))
	require.Contains(t, said(t, zerolog.InfoLevel, speak), "an older warning")
	require.NotContains(t, said(t, zerolog.InfoLevel, speak), "debug")
	require.NoError(t, file.Close())
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Empty(t, string(text))
}

// Whoever makes the libraries fail, as by requests that end at once, fills no log: of failures that say the same few are told, and of all
// others as many as ever (H35).
func TestAFloodOfFailuresIsToldNowAndThen(t *testing.T) {
	var heard bytes.Buffer
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	made := &sink{log: zerolog.New(&heard), failures: &lines.Bound{Now: func() time.Time { return now }}}
	log := logr.New(made)
	told := func(speak func(i int)) int {
		heard.Reset()
		for i := range 1000 {
			speak(i)
		}
		return strings.Count(heard.String(), "\n")
	}
	flood := func(i int) {
		log.WithName("a").WithValues("try", i).Error(fmt.Errorf("refused %d", i), "watching", "path", i)
	}
	require.Equal(t, 20, told(flood))
	require.Equal(t, 20, told(func(i int) { log.Error(nil, fmt.Sprintf("lost %d", i)) }), "in the older way")
	require.Equal(t, 20, told(func(i int) { log.Error(nil, "listing", "path", i) }), "another kind")
	now = now.Add(10 * time.Second)
	require.Equal(t, 1, told(flood))
	require.Contains(t, heard.String(), `"leftOut":980`)
}
