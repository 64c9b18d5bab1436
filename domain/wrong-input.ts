/** Something of a job's input is wrong, and is found only as it is used: no repetition, on no other machine, changes it. */
export class WrongInput extends RangeError {}
