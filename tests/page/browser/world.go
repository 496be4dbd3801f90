package browser

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// The tools that run in the page, once a document, as globalThis.rig.
var (
	//go:embed script/rig.js
	rigScript string

	tools = rigScript + axeScript + walkScript + measureScript + htmlScript
)

// worldName is that of the world that the tools run in.
const worldName = "rig"

// Eval gives what an expression is in the page, decoded from JSON; a promise is waited for. It sees the page's document, and
// none of its scripts' variables.
func Eval[T any](tab *Tab, expression string) T {
	tab.t.Helper()
	return run(tab, inWorld[T](tab.heard, expression))
}

// call gives what a function of the page's tools returns for values that JSON can tell.
func call[T any](tab *Tab, function string, arguments ...any) T {
	tab.t.Helper()
	return Eval[T](tab, spell(function, arguments...))
}

func spell(function string, arguments ...any) string {
	words := make([]string, len(arguments))
	for i, argument := range arguments {
		text, err := json.Marshal(argument)
		if err != nil {
			panic(fmt.Sprintf("an argument of %s: %v", function, err))
		}
		words[i] = string(text)
	}
	return function + "(" + strings.Join(words, ", ") + ")"
}

func inWorld[T any](h *heard, expression string) chromedp.Action[T] {
	return func(ctx context.Context, target *chromedp.Target) (T, error) {
		world, err := enter(ctx, target, h)
		if err != nil {
			var none T
			return none, err
		}
		return chromedp.Evaluate[T](expression, within(world), chromedp.EvalAwaitPromise)(ctx, target)
	}
}

// enter finds the tools' world of the document that is open, and puts them into it on the first visit. Printing has the browser
// make the world of the next document by itself, without them.
func enter(ctx context.Context, target *chromedp.Target, h *heard) (world string, err error) {
	world, equipped := h.worldOfTools()
	if equipped {
		return world, nil
	}
	if _, err := cdp.Call(ctx, target, page.CreateIsolatedWorld, page.CreateIsolatedWorldParams{FrameID: cdp.FrameID(target.TargetID), WorldName: worldName}); err != nil {
		return "", err
	}
	if world, _ = h.worldOfTools(); world == "" { // the browser tells of it before it answers
		return "", errors.New("the page that is open left before it could be looked at")
	}
	if _, err = chromedp.Evaluate[chromedp.Void](tools, within(world))(ctx, target); err == nil {
		h.equip(world)
	}
	return world, err
}

func within(world string) chromedp.EvaluateOption {
	return func(p *runtime.EvaluateParams) { p.UniqueContextID = world }
}
