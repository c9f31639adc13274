//! A symbol and a pull are sealed and taken without allocating.

use allocation_counter::measure;
use anabranch_host::wire::{PullRepr, Salt, SymbolRepr};
use anabranch_host::{Payload, Protection, Psk, Sealer, Unsealer};
use anabranch_transport::scdp::Pull;

#[test]
fn packets_are_sealed_and_taken_without_allocating() {
    for protection in [Protection::Psk(Psk::new([1; 32]).expect("not zero")), Protection::None] {
        let mut sealer = Sealer::new(protection.opener(Salt([2; 16])));
        let mut unsealer = Unsealer::new(protection.opener(Salt([2; 16])));
        let payload = [3; 1400];
        let mut out = Vec::with_capacity(64 * 1024);
        let counted = measure(|| {
            for index in 0..1000 {
                out.clear();
                let symbol = SymbolRepr { block: 0, esi: index, lane: 0, index, syn: false };
                sealer.symbol(7, &symbol, &payload, &mut out).expect("valid");
                assert_eq!(unsealer.symbol(&mut out), Ok((symbol, Payload::Whole(&payload))));
                out.clear();
                let pull = Pull { block: 0, upto: index, base: 0, fin: false, retry: false, done: false };
                sealer.pull(7, &PullRepr::new(&pull), &mut out).expect("valid");
                let taken = unsealer.pull(&mut out).expect("as sealed");
                assert!(taken.pulls().eq([pull]));
            }
        });
        assert_eq!(counted.count_total, 0);
    }
}
