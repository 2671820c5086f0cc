/* services/adx/openrtb/bids.h - bids, and how a bidder's answer becomes a list of them.
 *
 * Whatever a bidder sends, a bid is kept as long as it can be told what became of it: one with a member of the wrong
 * type is kept with the loss code that says so. Threading: pure. [spec:adx#3.4] */
#ifndef CD_ADX_OPENRTB_BIDS_H
#define CD_ADX_OPENRTB_BIDS_H

#include "services/adx/openrtb/req.h"

/* Bids that are taken of one answer, so that no bidder takes the place of another, and of all; elements of a bid's own
 * lists (advertisers, categories, attributes), of which more make it no bid. */
enum {
    CD_RTB_ANSWER_MAX = 1 << 20,
    CD_RTB_ANSWER_BIDS_MAX = 64,
    CD_RTB_BIDS_MAX = 128 + 64 * CD_RTB_ANSWER_BIDS_MAX,
    CD_RTB_BID_LIST_MAX = 16,
};

/* Why a bid did not win (OpenRTB's list of loss reasons), or that it did. */
typedef enum cd_rtb_loss {
    CD_LOSS_WON = 0,
    CD_LOSS_INTERNAL = 1,
    CD_LOSS_BAD_BID = 3,
    CD_LOSS_BAD_DEAL = 4,
    CD_LOSS_BAD_DOMAIN = 6,
    CD_LOSS_NO_MARKUP = 7,
    CD_LOSS_NO_CRID = 8,
    CD_LOSS_NO_PRICE = 9,
    CD_LOSS_FLOOR = 100,
    CD_LOSS_DEAL_FLOOR = 101,
    CD_LOSS_OUTBID = 102,
    CD_LOSS_DEAL_BEATS = 103,
    CD_LOSS_SEAT = 104,
    CD_LOSS_SIZE = 203,
    CD_LOSS_FORMAT = 204,
    CD_LOSS_ADVERTISER = 205,
    CD_LOSS_APP = 206,
    CD_LOSS_INSECURE = 207,
    CD_LOSS_LANGUAGE = 208,
    CD_LOSS_CATEGORY = 209,
    CD_LOSS_ATTRIBUTE = 210,
    CD_LOSS_DURATION = 211,
} cd_rtb_loss;

/* cd_rtb_loss_text says a code in a few words. */
const char *cd_rtb_loss_text(cd_rtb_loss code);

/* What is borrowed lives as long as the request's arena. */
typedef struct cd_rtb_bid {
    cd_bytes id, impid, seat, dealid, crid, adid, adm, nurl, burl, lurl, language, bundle;
    cd_cur cur;
    cd_micro price; /* as it was bid, in cur */
    cd_rtb_strs adomain, cat;
    cd_rtb_ints attr;
    i32 w, h, dur, mtype, protocol, exp;
    u32 bidder;        /* whose: the caller's number */
    const void *local; /* the caller's: what a campaign wants to show; NULL for bids of others */
    cd_rtb_loss loss;  /* set where the bid is no bid; the auction sets the rest */

    /* The auction's: */
    usize imp;               /* index of the imp */
    cd_micro value;          /* price in the auction's currency */
    cd_micro floor;          /* what it had to reach, in the auction's currency */
    cd_micro clears;         /* what the winner pays */
    cd_micro to_win;         /* -1: cannot be told */
    bool is_filtered;        /* it has been through the filters */
    bool is_deal, is_barred; /* barred: not beside what the pod has already */
    i32 at;
    u32 place; /* in its imp's pod, from 1; 0: it has not won */
} cd_rtb_bid;

/* A growing list of bids. */
typedef struct cd_rtb_bids {
    cd_rtb_bid *v;
    usize cnt, cap;
} cd_rtb_bids;

/* cd_rtb_bids_add gives room for one more, zeroed; NULL when there are CD_RTB_BIDS_MAX. Earlier bids may move. */
cd_rtb_bid *cd_rtb_bids_add(cd_rtb_bids *list, cd_arena *a);

/* cd_rtb_bids_parse appends the first CD_RTB_ANSWER_BIDS_MAX bids of an answer to the request `id`. seat names those
 * that name none. nbr is what the answer says where it holds no bids, else -1. Errors: those of codec/json.h when it is
 * no answer to it. */
cd_err cd_rtb_bids_parse(cd_rtb_bids *list, i32 *nbr, cd_arena *a, cd_bytes text, cd_bytes id, cd_bytes seat,
                         u32 bidder, cd_errinfo *why) CD_CHECK;

#endif
