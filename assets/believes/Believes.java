class Believes { // "HOLDS", "SHARES", "WAITS" or "DROPS"
    static void believes(String what, String lock) { System.out.println(what + " " + lock); System.out.flush(); } }
