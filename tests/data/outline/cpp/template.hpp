#pragma once
LIB_NAMESPACE_BEGIN

/*!
@brief holds values
*/
LIB_TPL_DECLARATION
class basic_value // a comment
{
  private:
    template<typename T> friend class reader;
    using self = LIB_TPL;

  LIB_PRIVATE_UNLESS_TESTED:
    static constexpr auto size() noexcept { return 1; }

  public:
    LIB_CONSTEXPR basic_value() noexcept : a_{1}, b_(2) { }
    ~basic_value();
    LIB_NON_NULL(1)
    bool operator==(const basic_value& other) const noexcept(noexcept(f()))
    {
        return true;
    }
    explicit operator bool() const { return true; }
    basic_value& operator=(basic_value&&) LIB_NOEXCEPT = default;
};

namespace outer::inner LIB_VISIBILITY(default)
{
template<typename T>
T largest(T a, T b) requires Ordered<T>
{
    auto pick = [](T x) { return x; };
    return a;
}

enum class Mode : char { on, off };
} // namespace outer::inner

outer::basic_value<int>::~basic_value() = default;

template<>
struct hash<basic_value> { int operator()(int) const; };
LIB_NAMESPACE_END
