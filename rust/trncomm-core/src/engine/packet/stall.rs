//! What a network that stopped with packets inside is stuck on.

use std::collections::BTreeMap;

/// A buffer: a resource and a virtual channel.
pub(super) type Channel = (usize, u8);

/// A cycle of buffers, each full of packets that wait for room in the next, as a text; `waits` says for each packet
/// that can't go on which buffer it is in and which it needs. `name` names a resource.
pub(super) fn describe(waits: &BTreeMap<Channel, Channel>, name: impl Fn(usize) -> String) -> Option<String> {
    // Every buffer of a stopped network waits for one that waits as well, so following any leads into a cycle.
    let start = *waits.keys().next()?;
    let mut walk = vec![start];
    let cycle = loop {
        let next = *waits.get(walk.last()?)?;
        if let Some(first) = walk.iter().position(|&seen| seen == next) {
            break &walk[first..];
        }
        walk.push(next);
    };
    let text: Vec<String> = cycle
        .iter()
        .map(|&(resource, channel)| format!("{} (channel {channel})", name(resource)))
        .collect();
    Some(format!("a cycle of full buffers: {} → {}", text.join(" → "), text[0]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cycle_is_named_without_what_leads_to_it() {
        let waits = BTreeMap::from([((0, 0), (1, 0)), ((1, 0), (2, 0)), ((2, 0), (3, 1)), ((3, 1), (1, 0))]);
        let text = describe(&waits, |resource| format!("link {resource}")).expect("a cycle");
        assert_eq!(
            text,
            "a cycle of full buffers: link 1 (channel 0) → link 2 (channel 0) → link 3 (channel 1) → link 1 (channel 0)"
        );
    }

    #[test]
    fn no_cycle_is_named_where_there_is_none() {
        assert_eq!(describe(&BTreeMap::from([((0, 0), (1, 0))]), |_| String::new()), None);
        assert_eq!(describe(&BTreeMap::new(), |_| String::new()), None);
    }
}
