package store

// Limits of the store.
const (
	Small = iota
	Large
)

var ErrFull, errGone = errors.New("full"), errors.New("gone")

// Store keeps things.
// It is safe for use by many.
type Store[K comparable] struct {
	items map[K]string
}

type (
	Getter interface {
		Get(key string) (string, error)
	}
	Alias = Getter
)

func (s *Store[K]) Get(key K) (string, error) {
	lookup := func() string { return s.items[key] }
	return lookup(), nil
}

func New[K comparable]() *Store[K] { return nil }
