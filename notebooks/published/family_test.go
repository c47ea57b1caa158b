package published

import (
	"slices"
	"testing"
)

// A measured model joins the published ones of its family, by whatever name a program knows it.
func TestFamilyOf(t *testing.T) {
	families, err := Families()
	if err != nil {
		t.Fatal(err)
	}
	if slices.Contains(families, "") || len(slices.Compact(slices.Sorted(slices.Values(families)))) != len(families) {
		t.Errorf("families: %q", families)
	}
	for model, want := range map[string]string{
		"gemma3:270m-pt":         "Gemma-3",
		"Gemma-3-12B-pt":         "Gemma-3",
		"gemma2:2b":              "Gemma-2",
		"llama3.2:1b":            "Llama-3",
		"qwen2.5:1.5b":           "Qwen2.5",
		"qwen3:0.6b":             "Qwen3",
		"phi3:mini":              "Phi-3", // and not Phi, which is a family too
		"phi:2.7b":               "Phi",
		"smollm2:135m-instruct":  "smollm2",
		"a-model-without-colons": "a-model-without-colons",
		"":                       "",

		"gguf:/models/gemma-3-1b.gguf":                     "Gemma-3",
		"gguf:SmolLM2-360M-Instruct-Q8_0.gguf":             "SmolLM2",
		`gguf:C:\models\SmolLM2-1.7B.GGUF`:                 "SmolLM2",
		"ollama:smollm2:360m":                              "smollm2",
		"hf.co/x/Llama-3.2-3B":                             "Llama-3",
		"openai:http://localhost:8000/v1#Qwen/Qwen2.5-3B":  "Qwen2.5",
		"openai:http://localhost:8000/v1#own/Mine_7b-chat": "Mine",
		"7b": "7b",
	} {
		if got := FamilyOf(model, families); got != want {
			t.Errorf("%s is of the family %q, not %q", model, got, want)
		}
	}
	if got := FamilyOf("gemma3:270m", []string{"", "Llama-3"}); got != "gemma3" {
		t.Errorf("among others gemma3 is %q", got)
	}
}
