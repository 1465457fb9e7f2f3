//! Binary trees over numbered ranks, built from the bits of the number.
//!
//! In the tree over 0 … n−1, a number v > 0 with lowest set bit b hangs below v − b or v + b, whichever has the higher
//! lowest bit, if it is below n; else below v − b. So 0 is the root, with one child; odd numbers are leaves; all others
//! have one or two children, b/2 away (nearer above, where n cuts the tree). The depth is about log₂ n.

/// Who is next to a number in a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Node {
    /// The number above; none for the root.
    pub(super) parent: Option<usize>,
    /// The numbers below.
    pub(super) children: Vec<usize>,
}

impl Node {
    /// The place of number `v` in the tree over `n` numbers.
    pub(super) fn new(v: usize, n: usize) -> Self {
        if v == 0 {
            let child = (n > 1).then(|| n.next_power_of_two() / 2);
            return Self {
                parent: None,
                children: child.into_iter().collect(),
            };
        }
        let bit = v & v.wrapping_neg();
        let above = (v ^ bit) | (2 * bit);
        let parent = if above < n { above } else { v ^ bit };
        let mut children = Vec::new();
        if bit > 1 {
            children.push(v - bit / 2);
            let nearer = (1..=bit.ilog2()).map(|halvings| bit >> halvings);
            children.extend(nearer.map(|distance| v + distance).find(|&child| child < n));
        }
        Self {
            parent: Some(parent),
            children,
        }
    }

    /// The place of number `v` in the tree over other names: `old` gives the tree's name of v, `new` the way back.
    pub(super) fn renamed(v: usize, n: usize, old: impl Fn(usize) -> usize, new: impl Fn(usize) -> usize) -> Self {
        let node = Self::new(old(v), n);
        Self {
            parent: node.parent.map(&new),
            children: node.children.into_iter().map(new).collect(),
        }
    }

    /// Whether it passes on what it hears.
    #[cfg(test)]
    pub(super) fn is_interior(&self) -> bool {
        !self.children.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::Node;

    #[test]
    fn children_and_parents_agree_and_lead_to_the_root() {
        for n in (1..=70).chain([143, 144, 145]) {
            for v in 0..n {
                let node = Node::new(v, n);
                assert!(node.children.len() <= 2, "{n}");
                for &child in &node.children {
                    assert_eq!(Node::new(child, n).parent, Some(v), "{n}");
                }
                match node.parent {
                    Some(parent) => assert!(Node::new(parent, n).children.contains(&v), "{n} {v}"),
                    None => assert_eq!(v, 0),
                }
            }
            assert!((0..n).all(|v| depth(v, n) <= n.ilog2() + 1), "{n}");
        }
    }

    #[test]
    fn depths_are_those_of_nccl() {
        let deepest = |n: usize| (0..n).map(|v| depth(v, n)).max();
        let depths: Vec<u32> = [8, 12, 36, 64, 72, 144].into_iter().filter_map(deepest).collect();
        assert_eq!(depths, [3, 4, 6, 6, 7, 8]);
    }

    /// How far v is from the root; a cycle would show as a depth of n.
    fn depth(v: usize, n: usize) -> u32 {
        let mut node = Node::new(v, n);
        let mut steps = 0;
        while let Some(parent) = node.parent.filter(|_| steps < n) {
            node = Node::new(parent, n);
            steps += 1;
        }
        u32::try_from(steps).expect("small")
    }
}
