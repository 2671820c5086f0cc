// The other implementation's side. Lines on standard input:
//
//   verify CNT HEX_COMMITMENTS HEX_PROOF     one "1" or "0"
//   prove CNT SEED                           one line for `verify`
//   time CNT ROUNDS                          microseconds for one verification
//
// Transcripts are Transcript::new("test") with u64 "n" = CNT appended.
use bulletproofs::{BulletproofGens, PedersenGens, RangeProof};
use curve25519_dalek::{ristretto::CompressedRistretto, scalar::Scalar};
use merlin::Transcript;
use rand::{rngs::StdRng, RngCore, SeedableRng};
use std::io::{self, BufRead, Write};
use std::time::Instant;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len() / 2).map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).expect("hex")).collect()
}

fn transcript(cnt: usize) -> Transcript {
    let mut t = Transcript::new(b"test");
    t.append_u64(b"n", cnt as u64);
    t
}

fn prove(cnt: usize, seed: u64, bg: &BulletproofGens, pg: &PedersenGens) -> (Vec<CompressedRistretto>, RangeProof) {
    let mut rng = StdRng::seed_from_u64(seed);
    let values: Vec<u64> = (0..cnt).map(|_| rng.next_u64() >> (rng.next_u32() % 64)).collect();
    let blindings: Vec<Scalar> = (0..cnt).map(|_| Scalar::random(&mut rng)).collect();
    let (proof, commitments) =
        RangeProof::prove_multiple_with_rng(bg, pg, &mut transcript(cnt), &values, &blindings, 64, &mut rng)
            .expect("a proof");
    (commitments, proof)
}

fn verify(cnt: usize, commitments: &[CompressedRistretto], proof: &RangeProof, bg: &BulletproofGens,
          pg: &PedersenGens) -> bool {
    proof.verify_multiple(bg, pg, &mut transcript(cnt), commitments, 64).is_ok()
}

fn main() {
    let bg = BulletproofGens::new(64, 32);
    let pg = PedersenGens::default();
    for line in io::stdin().lock().lines() {
        let line = line.expect("a line");
        let word: Vec<&str> = line.split(' ').collect();
        let cnt: usize = word[1].parse().expect("a number");
        match word[0] {
            "verify" => {
                let commitments: Vec<CompressedRistretto> = unhex(word[2])
                    .chunks(32)
                    .map(|c| CompressedRistretto::from_slice(c).expect("32 bytes"))
                    .collect();
                let ok = RangeProof::from_bytes(&unhex(word[3]))
                    .map(|p| verify(cnt, &commitments, &p, &bg, &pg))
                    .unwrap_or(false);
                println!("{}", ok as u8);
            }
            "prove" => {
                let (commitments, proof) = prove(cnt, word[2].parse().expect("a seed"), &bg, &pg);
                let joined: Vec<u8> = commitments.iter().flat_map(|c| c.as_bytes().to_vec()).collect();
                println!("verify {} {} {}", cnt, hex(&joined), hex(&proof.to_bytes()));
            }
            "time" => {
                let rounds: u32 = word[2].parse().expect("a number");
                let (commitments, proof) = prove(cnt, 1, &bg, &pg);
                let start = Instant::now();
                for _ in 0..rounds {
                    assert!(verify(cnt, &commitments, &proof, &bg, &pg));
                }
                println!("{}", start.elapsed().as_secs_f64() * 1e6 / rounds as f64);
            }
            other => panic!("what is {other}?"),
        }
        io::stdout().flush().expect("an open pipe");
    }
}
