//! What suits a room that is to be opened, besides its minimum ([`ostrakon_mixing::room`]).

/// The places that suit so many people who are expected: twice as many may come. `least`, doubled
/// as often as needed, so that rooms are of few sizes: what the servers have prepared for one
/// serves the others.
pub fn places_for(people: u32, least: u32) -> u32 {
    let enough = |places: &u32| *places / 2 >= people;
    std::iter::successors(Some(least.max(1)), |places| places.checked_mul(2))
        .find(enough)
        .unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rooms_are_of_few_sizes_and_twice_as_many_may_come_as_are_expected() {
        let places = [0, 1, 12, 13, 24, 25, 97].map(|people| places_for(people, 24));
        assert_eq!(places, [24, 24, 24, 48, 48, 96, 384]);
        assert_eq!([places_for(96, 192), places_for(97, 192)], [192, 384]);
        assert_eq!([places_for(u32::MAX, 24), places_for(3, 0)], [u32::MAX, 8]);
    }
}
