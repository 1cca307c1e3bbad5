//! Shapes.

/// A point.
#[derive(Debug, Clone)]
#[repr(C)]
pub struct Point<T> {
    x: T,
}

impl<T> Point<T> {
    /// Makes one.
    #[inline]
    pub fn new(x: T) -> Self {
        fn helper() {}
        Self { x }
    }
}

impl<T: fmt::Debug> fmt::Display for Point<T> {
    type Output = u8;
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { Ok(()) }
}

pub trait Area {
    const SIDES: u32;
    fn area(&self) -> f64;
    fn twice(&self) -> f64 { self.area() * 2.0 }
}

#[cfg(test)]
mod tests {
    #[test]
    fn adds() {}
}

macro_rules! square { ($x:expr) => { $x * $x } }
static mut COUNT: u32 = 0;
enum Kind { A, B(u8) }
