package preference

// Item is one of the things that are compared.
type Item struct {
	ID    string
	Text  string
	Score float64 // of human annotation, larger is preferred; NaN where there is none
}

// Comparison is an annotation of two items of an instance, by their places in it.
type Comparison struct {
	I, J   int
	P      float64 // that I is preferred to J, in [0, 1]: 1 or 0 for one annotator's choice, ½ for a tie
	Worker string  // who annotated it, where the data tell
	Line   int     // of the file, from 1
}

// Instance is a set of items that are compared with each other, with the text that they share.
type Instance struct {
	ID          string
	Source      string // that the items are summaries of, passages for, or events in; may be empty
	Items       []Item
	Comparisons []Comparison
	Line        int    // of the file where it begins, from 1
	Bad         string // why it cannot be asked; nothing else but ID and Line is meaningful then
}
